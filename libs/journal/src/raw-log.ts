import { errorText } from '@waybill/model';
import { AckPolicy, DeliverPolicy, type JetStreamManager, ReplayPolicy } from '@nats-io/jetstream';
import { createInbox, nanos } from '@nats-io/transport-node';
import type { Msg, Subscription } from '@nats-io/transport-node';
import type { NatsLink } from './connection.js';
import { LogUnavailableError } from './errors.js';
import type { LogBounds } from './journal.js';
import { deliveryOf, MessageText } from './raw-message.js';
import { managerOf, MAX_MESSAGE_BYTES } from './streams.js';
import { TXN_STREAM } from './subject.js';

/** Most messages of one request. */
export const RAW_BATCH = 256;
/** Most bytes of one request: twice the largest message, so that one always fits. */
const RAW_BATCH_BYTES = 2 * MAX_MESSAGE_BYTES;
/** Time after which the server answers that there is no further message, milliseconds. */
const EXPIRES_MS = 2_000;
/** Without an answer for this long, the consumer or the connection is gone, milliseconds. */
const SILENT_MS = 5_000;
/** Time after which the server deletes an unused cursor, milliseconds: longer than the pause of a slow reader. */
const CURSOR_IDLE_MS = 600_000;
/**
 * Attempts to reach one copy, as the server chooses a copy at random; with five copies they fail once in a thousand
 * times.
 */
const COPY_ATTEMPTS = 32;
const CURSOR_ID_CHARS = 8;

/** Statuses that end a request: no messages, the request expired, or the next message exceeds its size. */
const NO_MESSAGES = 404;
const EXPIRED = 408;
const BATCH_ENDED = 409;

/** A message of the log as it is stored. */
export interface RawMessage {
  readonly index: number;
  /** All ASCII. */
  readonly headers: string;
  readonly body: Uint8Array | string;
}

/** Reads the log from an index on. It silently omits messages that the server cannot read. */
export interface RawCursor {
  /** The server whose copy is read; empty if there is one server only. */
  readonly server: string;
  /**
   * The next messages, at most `max` and at most RAW_BATCH; an empty list: there are no more. @throws
   * LogUnavailableError if the cursor is lost
   */
  next(max: number): Promise<readonly RawMessage[]>;
  close(): Promise<void>;
}

/**
 * The log as messages and not as transactions, for tools that inspect how it is stored. Each cursor is a consumer of
 * its own, which the server keeps in memory on one copy of the log.
 */
export class RawLog {
  constructor(private readonly link: NatsLink) {}

  /** @throws LogUnavailableError */
  bounds(): Promise<LogBounds> {
    return this.withManager('the bounds of the log', async (manager) => {
      const { state } = await manager.streams.info(TXN_STREAM);
      return { first: state.first_seq, last: state.last_seq };
    });
  }

  /**
   * The servers that keep a copy, ordered by name; an empty list: there is one server only. @throws LogUnavailableError
   */
  copies(): Promise<readonly string[]> {
    return this.withManager('the copies of the log', async (manager) => {
      const { cluster } = await manager.streams.info(TXN_STREAM);
      const names = [cluster?.leader ?? '', ...(cluster?.replicas ?? []).map(({ name }) => name)];
      return names.filter((name) => name !== '').toSorted();
    });
  }

  /**
   * @param from the first index to read
   * @param copy the server whose copy to read; another copy is read if that server accepts no consumer
   * @throws LogUnavailableError
   */
  open(from: number, copy = ''): Promise<RawCursor> {
    return this.withManager('reading the log', async (manager) => {
      for (let attempt = 1; ; attempt++) {
        const name = `scrub_${createInbox().slice(-CURSOR_ID_CHARS)}`;
        const { cluster } = await manager.consumers.add(TXN_STREAM, {
          name,
          deliver_policy: DeliverPolicy.StartSequence,
          opt_start_seq: from,
          ack_policy: AckPolicy.None,
          replay_policy: ReplayPolicy.Instant,
          max_deliver: 1,
          inactive_threshold: nanos(CURSOR_IDLE_MS),
          mem_storage: true,
          num_replicas: 1,
        });
        const server = cluster?.leader ?? '';
        const cursor = new ConsumerCursor(this.link, manager, name, server);
        if (copy === '' || server === copy || attempt === COPY_ATTEMPTS) return cursor;
        await cursor.close();
      }
    });
  }

  private async withManager<R>(what: string, work: (manager: JetStreamManager) => Promise<R>): Promise<R> {
    try {
      return await work(await managerOf(this.link));
    } catch (e) {
      throw new LogUnavailableError(`${what}: ${errorText(e)}`, { cause: e });
    }
  }
}

/** A cursor with one consumer. It makes one request at a time. */
class ConsumerCursor implements RawCursor {
  constructor(
    private readonly link: NatsLink,
    private readonly manager: JetStreamManager,
    private readonly name: string,
    readonly server: string,
  ) {}

  next(max: number): Promise<readonly RawMessage[]> {
    if (!this.link.up) return Promise.reject(new LogUnavailableError('not connected to NATS'));
    const batch = Math.min(max, RAW_BATCH);
    return new Promise((resolve, reject) => {
      const inbox = createInbox(this.link.inboxPrefix);
      const messages: RawMessage[] = [];
      let silence: NodeJS.Timeout | undefined;
      const finish = (error?: Error): void => {
        clearTimeout(silence);
        subscription.unsubscribe();
        if (error) reject(error);
        else resolve(messages);
      };
      const listen = (): void => {
        clearTimeout(silence);
        silence = setTimeout(() => finish(new LogUnavailableError('NATS does not answer')), SILENT_MS);
      };
      const subscription: Subscription = this.link.nc.subscribe(inbox, {
        callback: (error, msg) => {
          if (error) return finish(new LogUnavailableError(`reading the log: ${error.message}`, { cause: error }));
          listen();
          const message = rawMessageOf(msg);
          if (!message) return finish(failureOf(msg.headers?.code ?? 0, messages.length));
          messages.push(message);
          if (messages.length === batch) finish();
        },
      });
      const request = { batch, max_bytes: RAW_BATCH_BYTES, expires: nanos(EXPIRES_MS) };
      listen();
      this.link.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${TXN_STREAM}.${this.name}`, JSON.stringify(request), {
        reply: inbox,
      });
    });
  }

  async close(): Promise<void> {
    if (this.link.up) await this.manager.consumers.delete(TXN_STREAM, this.name).catch(() => {});
  }
}

function rawMessageOf(msg: Msg): RawMessage | undefined {
  const delivery = deliveryOf(msg);
  if (!delivery) return undefined;
  const { headers, body } = new MessageText(msg);
  return { index: delivery.sequence, headers, body };
}

/**
 * The error of a request that ended early; undefined if it ended normally. If the consumer is gone, the server ends the
 * request with the status of a full batch.
 */
function failureOf(status: number, got: number): Error | undefined {
  if (status === NO_MESSAGES || status === EXPIRED || (status === BATCH_ENDED && got > 0)) return undefined;
  return new LogUnavailableError(`NATS ended a request for messages with status ${status}`);
}
