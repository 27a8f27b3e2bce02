import { errorText } from '@waybill/model';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { LogMark, TxnDraft } from '@waybill/state';
import { Archives, withArchives } from './archives.js';
import type { NatsLink } from './connection.js';
import { ConflictError, LogUnavailableError, TooLargeError } from './errors.js';
import { LogFollower } from './follower.js';
import { LogHistory } from './log-history.js';
import type { FollowOptions, Follower, Log, Published, PublishOptions } from './log.js';
import { PUBLISH_DEADLINE_MS, Publisher } from './publisher.js';
import { logView } from './same-log.js';
import { managerOf, MAX_MESSAGE_BYTES, nextMessage } from './streams.js';
import { subjectOf, TXN_STREAM } from './subject.js';
import { encodeTxn, headerValue, type PublishConditions } from './txn-codec.js';

/** First and last index in the log; `first` is `last + 1` if the log is empty. */
export interface LogBounds {
  readonly first: number;
  readonly last: number;
}

/**
 * The transaction log in JetStream. One instance for each process is enough: it has one connection, one publisher for
 * all writers, and any number of followers. It closes neither the connection nor the followers.
 */
export class Journal implements Log {
  private readonly publisher: Publisher;
  /** Whether this is still the log that this process knows. */
  readonly history: LogHistory;
  /** The archives that restores in the log name. */
  readonly archives: Archives;
  private manager: Promise<JetStreamManager> | undefined;

  constructor(readonly link: NatsLink) {
    this.history = new LogHistory(
      link,
      logView(() => this.getManager()),
    );
    this.publisher = new Publisher(link, () => this.history.gate());
    this.archives = new Archives(link, () => this.getManager());
  }

  /** Publishes in flight and waiting, for metrics. */
  get load(): { readonly inFlight: number; readonly queued: number } {
    return this.publisher.load;
  }

  async publish(draft: TxnDraft, options: PublishOptions = {}): Promise<Published> {
    const expected = options.expectedLastSubjectSequence;
    return this.append(draft, { expectedLastSubjectSequence: expected }, options.deadlineMs);
  }

  /** Publishes only if the log is empty (ST-2). @throws ConflictError if it is not */
  async publishFirst(draft: TxnDraft): Promise<Published> {
    return this.append(draft, { expectedLastSequence: 0 });
  }

  /** Publishes only if the log ends at this index. @throws ConflictError if it does not */
  async publishAt(draft: TxnDraft, last: number): Promise<Published> {
    return this.append(draft, { expectedLastSequence: last });
  }

  async follow(options: FollowOptions): Promise<Follower> {
    const follower = new LogFollower(
      this.link,
      () => this.getManager(),
      withArchives(options, this.archives),
      this.history,
    );
    await follower.start();
    return follower;
  }

  async lastSequence(subject: string): Promise<number> {
    return this.withManager(`the last sequence of ${subject}`, async (manager) => {
      const last = await manager.streams.getMessage(TXN_STREAM, { last_by_subj: subject });
      return last?.seq ?? 0;
    });
  }

  /** @throws LogUnavailableError */
  async bounds(): Promise<LogBounds> {
    return this.withManager('the bounds of the log', async (manager) => {
      const { state } = await manager.streams.info(TXN_STREAM);
      return { first: state.first_seq, last: state.last_seq };
    });
  }

  /**
   * Identifies the transaction at an index; undefined if the log does not have the index, or no longer. @throws
   * LogUnavailableError
   */
  async markAt(index: number): Promise<LogMark | undefined> {
    return this.withManager(`the transaction ${index}`, (manager) =>
      logView(() => Promise.resolve(manager)).markAt(index),
    );
  }

  /** Stops the publisher: waiting publishes fail with LogUnavailableError. */
  close(): void {
    this.history.close();
    this.publisher.close();
  }

  private async append(
    draft: TxnDraft,
    conditions: PublishConditions,
    deadlineMs: number = PUBLISH_DEADLINE_MS,
  ): Promise<Published> {
    const subject = subjectOf(draft);
    const { headers, body } = encodeTxn(draft, conditions);
    const bytes = headers.length + body.length;
    // The server's limit may be lower than the stream's.
    const limit = Math.min(MAX_MESSAGE_BYTES, this.link.nc.info?.max_payload ?? MAX_MESSAGE_BYTES);
    if (bytes > limit) throw new TooLargeError(draft.type, bytes, limit);

    const ack = await this.publisher.send(subject, headers, body, deadlineMs);
    switch (ack.kind) {
      case 'stored':
        return { index: ack.sequence, duplicate: ack.duplicate };
      case 'wrong-sequence': {
        const expected = conditions.expectedLastSubjectSequence ?? conditions.expectedLastSequence ?? 0;
        const ours = await this.indexOfOwnCopy(subject, expected, draft.requestId).catch((cause: unknown) => {
          throw new LogUnavailableError(`nobody tells who wrote to ${subject}`, { cause, mayBeWritten: true });
        });
        if (ours !== undefined) return { index: ours, duplicate: true };
        throw new ConflictError(subject, expected, ack.actual ?? (await this.lastSequence(subject)));
      }
      case 'refused':
        throw new LogUnavailableError(`JetStream refused the transaction: ${ack.reason}`);
    }
  }

  /**
   * Index of the first copy of this very message. JetStream checks the condition before the ID, so a conditional
   * message whose acknowledgement was lost conflicts with its own first copy (ST-6). If there is one, it is the first
   * message on its subject after the expected index. Undefined: that message is another writer's.
   */
  private indexOfOwnCopy(subject: string, expected: number, requestId: string): Promise<number | undefined> {
    return this.withManager(`the message after ${expected} on ${subject}`, async (manager) => {
      const next = await manager.streams.getMessage(TXN_STREAM, nextMessage(expected + 1, subject));
      return next?.header.get('Nats-Msg-Id') === headerValue(requestId) ? next.seq : undefined;
    });
  }

  private getManager(): Promise<JetStreamManager> {
    this.manager ??= managerOf(this.link).catch((e: unknown) => {
      this.manager = undefined;
      throw e;
    });
    return this.manager;
  }

  private async withManager<R>(what: string, fn: (manager: JetStreamManager) => Promise<R>): Promise<R> {
    if (!(await this.link.waitUp(PUBLISH_DEADLINE_MS / 2))) throw new LogUnavailableError('not connected to NATS');
    try {
      return await fn(await this.getManager());
    } catch (e) {
      throw new LogUnavailableError(`${what}: ${errorText(e)}`, { cause: e });
    }
  }
}
