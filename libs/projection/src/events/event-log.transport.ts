import { errorText } from '@waybill/model';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { type StoredPart, storedPart } from './event-frame.js';
import type { EventStorage } from './event-window.js';

const EVENTS_STREAM = 'EVENTS';
/** Milliseconds of the longest silence in a response, and of the wait for a lagging replica of the stream. */
export const READ_TIMEOUT_MS = 2_000;
/** Bytes of messages in one file of the server, at most. */
const FILE_BYTES = 8 * 1024 * 1024;
/** Messages that are read at a time to be overwritten. */
const OVERWRITTEN_AT_ONCE = 256;
/** Milliseconds before another replica of the stream is queried. */
const LAG_PAUSE_MS = 50;

const END_OF_BATCH = 204;
const NOT_FOUND = 404;

/** EVENTS did not answer or refused. */
export class EventStreamUnavailableError extends Error {
  override readonly name = 'EventStreamUnavailableError';
  constructor(reason: string, options?: ErrorOptions) {
    super(`the event stream is not available: ${reason}`, options);
  }
}

/**
 * Reads EVENTS by sequence without a consumer, so there is no state to keep or recover when NATS restarts. Batches use
 * the server's direct get, which any replica of the stream answers, including one that lags behind the leader. An empty
 * response of a replica counts only if the leader has no messages either.
 */
export class NatsEventStorage implements EventStorage {
  private manager: Promise<JetStreamManager> | undefined;

  /** @param inboxPrefix subjects on which this connection may receive messages; by default any */
  constructor(
    private readonly nc: NatsConnection,
    private readonly inboxPrefix?: string,
  ) {}

  /** `end` is the sequence that precedes the next message, even if that message was removed. */
  async bounds(): Promise<{ first: number; last: number; end: number }> {
    try {
      const manager = await this.getManager();
      const { state } = await manager.streams.info(EVENTS_STREAM);
      const end = state.last_seq;
      if (state.messages === 0) return { first: end + 1, last: end, end };
      if (!state.num_deleted) return { first: state.first_seq, last: end, end };
      const newest = await manager.streams.getMessage(EVENTS_STREAM, { last_by_subj: `${EVENTS_STREAM}.>` });
      return { first: state.first_seq, last: newest?.seq ?? end, end };
    } catch (error) {
      throw new EventStreamUnavailableError(errorText(error), { cause: error });
    }
  }

  async readParts(sequence: number, messages: number, bytes: number): Promise<StoredPart[]> {
    for (const until = performance.now() + READ_TIMEOUT_MS; ;) {
      const parts = await this.readBatch(sequence, messages, bytes);
      if (parts.length > 0) return parts;
      const { first, last } = await this.bounds();
      if (Math.max(first, sequence) > last) return parts;
      if (performance.now() >= until) throw new EventStreamUnavailableError(`no copy of it gives message ${sequence}`);
      await new Promise((resolve) => setTimeout(resolve, LAG_PAUSE_MS));
    }
  }

  /** Returns the last message of the stream, or undefined. */
  async newest(): Promise<StoredPart | undefined> {
    const { first, last } = await this.bounds();
    return last >= first ? (await this.readParts(last, 1, 1))[0] : undefined;
  }

  /** Removes the frames of transactions above an index, after a decision about the log's history made them invalid. */
  async removeAbove(index: number): Promise<void> {
    const manager = await this.getManager();
    for (let part = await this.newest(); part && part.index > index; part = await this.newest())
      await manager.streams.deleteMessage(EVENTS_STREAM, part.sequence, false);
  }

  /**
   * Removes the frames of transactions below an index, also from the disk of the server: it deletes whole files, and
   * the messages in the file that stays are overwritten before. Cost: a request for each message of one file.
   */
  async removeBelow(index: number): Promise<void> {
    const { first, last } = await this.bounds();
    let [from, to] = [first, last + 1];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const [part] = await this.readParts(middle, 1, 1);
      if (!part || part.index >= index) to = middle;
      else from = part.sequence + 1;
    }
    if (from <= first) return;
    const manager = await this.getManager();
    let bytes = 0;
    for (let to = from; to > first && bytes < FILE_BYTES; to = Math.max(first, to - OVERWRITTEN_AT_ONCE))
      for (let at = Math.max(first, to - OVERWRITTEN_AT_ONCE); at < to;) {
        const parts = await this.readParts(at, to - at, FILE_BYTES);
        for (const { sequence, data } of parts.filter((part) => part.sequence < to)) {
          await manager.streams.deleteMessage(EVENTS_STREAM, sequence, true);
          bytes += data.length;
        }
        at = (parts.at(-1)?.sequence ?? to) + 1;
      }
    await manager.streams.purge(EVENTS_STREAM, { seq: from });
  }

  private readBatch(sequence: number, messages: number, bytes: number): Promise<StoredPart[]> {
    const request = JSON.stringify({ seq: Math.max(1, sequence), batch: messages, max_bytes: bytes });
    return new Promise((resolve, reject) => {
      const parts: StoredPart[] = [];
      const inbox = createInbox(this.inboxPrefix);
      let isOver = false;
      const end = (error?: Error): void => {
        isOver = true;
        clearTimeout(timer);
        subscription.unsubscribe();
        if (error) reject(error);
        else resolve(parts);
      };
      // A response that arrived while this process was busy counts before the timeout does.
      let known = 0;
      const timer = setTimeout(() => {
        setImmediate(() => {
          if (isOver) return;
          if (parts.length === known) return end(new EventStreamUnavailableError('no answer'));
          known = parts.length;
          timer.refresh();
        });
      }, READ_TIMEOUT_MS);
      const subscription = this.nc.subscribe(inbox, {
        callback: (error, message) => {
          if (error) end(new EventStreamUnavailableError(error.message, { cause: error }));
          else if (isStatus(message)) end(refusal(message));
          else parts.push(partOf(message));
        },
      });
      this.nc.publish(`$JS.API.DIRECT.GET.${EVENTS_STREAM}`, request, { reply: inbox });
    });
  }

  private getManager(): Promise<JetStreamManager> {
    this.manager ??= jetstreamManager(this.nc, { checkAPI: false, timeout: READ_TIMEOUT_MS }).catch(
      (error: unknown) => {
        this.manager = undefined;
        throw error;
      },
    );
    return this.manager;
  }
}

/** Whether a message is from the server itself. Stored messages have a sequence, and the server's own have a status. */
const isStatus = (message: Msg): boolean => (message.headers?.code ?? 0) !== 0;

function refusal(message: Msg): Error | undefined {
  const code = message.headers?.code ?? 0;
  if (code === END_OF_BATCH || code === NOT_FOUND) return undefined;
  return new EventStreamUnavailableError(`status ${code} ${message.headers?.description ?? ''}`);
}

function partOf(message: Msg): StoredPart {
  const header = (name: string): string => message.headers?.get(name) ?? '';
  return storedPart(Number(header('Nats-Sequence')), header, message.data);
}
