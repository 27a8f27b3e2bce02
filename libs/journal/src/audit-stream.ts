import { jetstream, type JetStreamClient } from '@nats-io/jetstream';
import type { NatsLink } from './connection.js';
import { AUDIT_STREAM, ensureAuditStream, managerOf, type AuditStreamOptions } from './streams.js';

/** Timeout for one record, milliseconds. */
const APPEND_TIMEOUT_MS = 1_000;
/** Records that are requested at once. */
const WINDOW = 50;

/** A record with its sequence in the stream. */
export interface StoredRecord {
  readonly sequence: number;
  readonly line: string;
}

/**
 * The stream AUDIT: records of requests to the cluster. It is append-only: no client can delete or purge a message, and
 * the oldest records expire by age. Every API appends to it. Stateless. Cost: one request to JetStream for each record
 * that is read.
 */
export class AuditStream {
  private readonly js: JetStreamClient;

  private constructor(
    private readonly link: NatsLink,
    private readonly subject: string,
  ) {
    this.js = jetstream(link.nc, { timeout: APPEND_TIMEOUT_MS });
  }

  /** Creates the stream if it does not exist. @throws LogUnavailableError */
  static async open(link: NatsLink, region: string, options: AuditStreamOptions): Promise<AuditStream> {
    await ensureAuditStream(link, options);
    return new AuditStream(link, `${AUDIT_STREAM}.${region}`);
  }

  /** Resolves when JetStream has stored the record. @throws any error of the connection or of JetStream */
  async append(line: string): Promise<void> {
    await this.js.publish(this.subject, line);
  }

  /**
   * Records in descending order, from the newest one before a sequence on. @param before undefined: from the newest of
   * all
   */
  async *backwards(before?: number): AsyncGenerator<StoredRecord> {
    const manager = await managerOf(this.link);
    const { first_seq: first, last_seq: last } = (await manager.streams.info(AUDIT_STREAM)).state;
    for (let to = Math.min(last, (before ?? last + 1) - 1); to >= first && to > 0; to -= WINDOW) {
      const sequences = Array.from({ length: Math.min(WINDOW, to - first + 1) }, (_, n) => to - n);
      const found = await Promise.all(sequences.map((seq) => manager.streams.getMessage(AUDIT_STREAM, { seq })));
      for (const message of found) if (message) yield { sequence: message.seq, line: message.string() };
    }
  }
}
