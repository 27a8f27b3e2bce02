import type { ServerResponse } from 'node:http';
import type { LineSink } from '../events/subscriber.js';

/** Behind the body of an event stream that ends: the index to go on with (EV-61). */
export const NEXT_TRAILER = 'X-Waybill-Event-Next';

/** The open response of an event stream, as its subscriber writes to it. */
export function sinkOf(raw: ServerResponse): LineSink {
  return {
    write: (line) => void raw.write(line),
    get bufferedBytes() {
      return raw.writableLength;
    },
    drained: () => new Promise((resolve) => raw.once('drain', resolve)),
    end: (next) => {
      if (next !== undefined && !raw.writableEnded) raw.addTrailers({ [NEXT_TRAILER]: String(next) });
      raw.end();
    },
  };
}
