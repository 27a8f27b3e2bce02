/** A body has more bytes than its reader accepts. */
export class TooManyBytesError extends Error {
  override readonly name = 'TooManyBytesError';
  constructor(readonly maxBytes: number) {
    super(`the body is longer than ${maxBytes} bytes`);
  }
}

/**
 * Returns all bytes of a body. Memory: `maxBytes` and the chunk that exceeds it. A body that is too long is closed.
 * @throws TooManyBytesError, and any error of the body
 */
export async function bytesWithin(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const read: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TooManyBytesError(maxBytes); // leaving the loop closes the body
    read.push(chunk);
  }
  return Buffer.concat(read);
}
