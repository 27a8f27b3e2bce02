import type { Writable } from 'node:stream';

/** Resolves when a stream that was full takes more, or is closed. Nothing of the wait stays with it. */
export function roomIn(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
