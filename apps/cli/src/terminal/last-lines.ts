/** Assumed length of a line for the search from the end (CL-414). */
export const BYTES_PER_LINE = 120;
/** After this time without new bytes, the bytes read so far are shown. */
const IDLE_MS = 1_000;
const NEWLINE = 10;

/** Returns the last `count` lines. A last line without a newline counts. */
export function lastLines(bytes: Buffer, count: number): Buffer {
  let left = count;
  for (let i = bytes.length - 2; i >= 0; i--) if (bytes[i] === NEWLINE && --left === 0) return bytes.subarray(i + 1);
  return count === 0 ? Buffer.alloc(0) : bytes;
}

/**
 * Yields the last `count` lines of the present content, then all bytes that follow. Modes: collecting (until the end,
 * the estimated length, or one idle second) → passing on. Holds at most `count` × BYTES_PER_LINE bytes and one chunk.
 * @param sleep used only with `follow`, when more may come
 */
export async function* fromLastLines(
  chunks: AsyncIterable<Uint8Array>,
  count: number,
  follow: boolean,
  sleep: (ms: number) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  const gathered: Uint8Array[] = [];
  let size = 0;
  let next = source.next();
  while (size < count * BYTES_PER_LINE) {
    const step = follow ? await Promise.race([next, sleep(IDLE_MS)]) : await next;
    if (!step || step.done) break;
    gathered.push(step.value);
    size += step.value.length;
    next = source.next();
  }
  yield lastLines(Buffer.concat(gathered), count);
  for (let step = await next; !step.done; step = await source.next()) yield step.value;
}
