import type { AuditStream } from '@waybill/journal';
import type { AuditSink } from './audit-log.js';

/** Records that wait for JetStream at a time. More are refused, so that a connection that is gone takes no memory. */
const MAX_WAITING = 10_000;

/** Too many records wait. */
class StreamBehindError extends Error {
  override readonly name = 'StreamBehindError';
  constructor() {
    super(`more than ${MAX_WAITING} records wait for JetStream`);
  }
}

/** Appends records to the stream AUDIT, each a message (AU-271). */
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
