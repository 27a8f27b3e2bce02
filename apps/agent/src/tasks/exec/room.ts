import type { Writable } from 'node:stream';

/** Resolves when a full stream has room again or is closed. It leaves no listeners on the stream. */
export function roomIn(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
