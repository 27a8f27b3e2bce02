/**
 * Waits for a result until the signal aborts. The work goes on, and the signal keeps no reference to it.
 * @param abandoned makes the error for an aborted signal
 * @throws the error of the work, or of `abandoned`
 */
export function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  abandoned: () => Error,
): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abandon = (): void => reject(abandoned());
    signal.addEventListener('abort', abandon, { once: true });
    if (signal.aborted) abandon();
    const settled = (): void => signal.removeEventListener('abort', abandon);
    work.then(resolve, reject).finally(settled);
  });
}
