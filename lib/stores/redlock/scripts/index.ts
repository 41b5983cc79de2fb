export { clearScript } from './clear.script.js';
export { identityScript } from './identity.script.js';
export { lookScript } from './look.script.js';
export { renewScript } from './renew.script.js';
export { voteScript } from './vote.script.js';
export { withdrawScript } from './withdraw.script.js';
