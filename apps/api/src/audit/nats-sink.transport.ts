import type { AuditStream } from '@waybill/journal';
import type { AuditSink } from './audit-log.js';

/**
 * The largest number of records that wait for JetStream. Further records are refused, so that a lost connection takes
 * no memory.
 */
const MAX_WAITING = 10_000;

/** StreamBehindError says that too many records wait. */
class StreamBehindError extends Error {
  override readonly name = 'StreamBehindError';
  constructor() {
    super(`more than ${MAX_WAITING} records wait for JetStream`);
  }
}

/** NatsSink appends records to the stream AUDIT, each as a message (AU-271). */
export class NatsSink implements AuditSink {
  readonly name = 'nats';
  private waiting = 0;

  constructor(private readonly stream: Pick<AuditStream, 'append'>) {}

  async write(line: string): Promise<void> {
    if (this.waiting >= MAX_WAITING) throw new StreamBehindError();
    this.waiting++;
    try {
      await this.stream.append(line.trimEnd());
    } finally {
      this.waiting--;
    }
  }

  async reopen(): Promise<void> {}

  async close(): Promise<void> {}
}
