export type Answer = 'answered' | 'late' | { readonly error: unknown };

/** Whether a question is answered within `timeout` ms. What comes later is dropped. */
export async function answerOf(ask: () => Promise<unknown>, timeout: number): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(resolve, timeout, 'late')));
  const answered = ask().then(
    () => 'answered' as const,
    (error: unknown) => ({ error }),
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}
