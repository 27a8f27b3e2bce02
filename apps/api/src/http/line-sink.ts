import type { ServerResponse } from 'node:http';
import type { LineSink } from '../events/subscriber.js';

/** The trailer behind the body of an ended event stream. It has the index to continue with (EV-61). */
export const NEXT_TRAILER = 'X-Waybill-Event-Next';

/** Returns the open response of an event stream in the form to which its subscriber writes. */
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
    destroy: () => void raw.destroy(),
  };
}
