/**
 * Terminus 10 takes what an indicator answers for a success, whatever it says: there a store that is down must be thrown.
 * Later versions take the answer as it is, and the newest answers 500 to what is thrown.
 *
 * @returns what to throw; nothing for later versions
 */
export async function failureForTerminus10(
  key: string,
  result: object,
  load: () => Promise<object> = () => import('@nestjs/terminus'),
): Promise<Error | undefined> {
  const terminus = await load().catch(() => ({}));
  if (!('HealthCheckError' in terminus) || 'HealthIndicatorService' in terminus) return undefined;
  const { HealthCheckError } = terminus as { HealthCheckError: new (message: string, causes: object) => Error };
  return new HealthCheckError(`${key} is down`, result);
}
