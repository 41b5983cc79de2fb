/**
 * vote_round(value)
 *
 * The round in which a vote was given, 0 where the value does not say: `owner`, `owner:round` or `owner:round:label`.
 */
export const voteRound = `
local function vote_round(value)
  return tonumber(string.match(value, '^%x+:(%d+)')) or 0
end
`;
