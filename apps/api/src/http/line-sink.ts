import type { ServerResponse } from 'node:http';
import type { LineSink } from '../events/subscriber.js';

/** The open response of an event stream, as its subscriber writes to it. */
export function sinkOf(raw: ServerResponse): LineSink {
  return {
    write: (line) => void raw.write(line),
    get bufferedBytes() {
      return raw.writableLength;
    },
    drained: () => new Promise((resolve) => raw.once('drain', resolve)),
    end: () => raw.end(),
  };
}
