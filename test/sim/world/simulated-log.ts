import {
  ConflictError,
  type Follower,
  type FollowOptions,
  type Log,
  type LogBounds,
  LogDivergedError,
  LogHistory,
  LogUnavailableError,
  type LogView,
  PUBLISH_DEADLINE_MS,
  type Published,
  type PublishOptions,
  withArchives,
} from '@waybill/journal';
import type { LogMark, TxnDraft } from '@waybill/state';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { ArchivesOfProcess } from './archive-store.js';
import { StreamFollower } from './stream-follower.js';
import { messageOf, type StreamAnswer, type TxnMessage, type TxnStream } from './txn-stream.js';
import type { Wire } from './wire.js';

/** A publish without acknowledgement is sent again after this, as the real publisher does, milliseconds. */
const ACK_TIMEOUT_MS = 600;
/** Where the log cannot be compared, a publish tries again after this, as the real publisher does, milliseconds. */
const RETRY_MS = 50;
/** As the real one's for a question to JetStream, milliseconds. */
const QUESTION = { timeoutMs: 5_000 } as const;

/**
 * The log as one process sees it over the simulated network. A publish is sent until it is acknowledged or its deadline
 * is over; a message that is still on its way then may arrive and count all the same. Nothing is sent before the log was
 * compared with what the process knows of it (ST-1), by the same code as in production.
 */
export class SimulatedLog implements Log {
  readonly history: LogHistory;
  private readonly view: LogView;

  constructor(
    private readonly process: SimulatedProcess,
    private readonly stream: TxnStream,
    private readonly wire: Wire,
    readonly archives: ArchivesOfProcess,
  ) {
    this.view = {
      info: () =>
        this.question('bounds of the log', () => ({
          state: { first_seq: 1, last_seq: stream.last },
          config: { num_replicas: 1 },
        })),
      markAt: (index) => this.question('mark of the log', () => stream.markAt(index)),
    };
    const time = { timers: process, monotonic: process.monotonic };
    this.history = new LogHistory(wire.connectionOf(process), this.view, time);
  }

  publish(draft: TxnDraft, options: PublishOptions = {}): Promise<Published> {
    const expected = options.expectedLastSubjectSequence;
    return this.append(draft, options.deadlineMs, (message) => this.stream.append(message, expected));
  }

  publishAt(draft: TxnDraft, last: number): Promise<Published> {
    return this.append(draft, undefined, (message) => this.stream.appendAt(message, last));
  }

  async follow(options: FollowOptions): Promise<Follower> {
    const { process, stream, wire, view, history } = this;
    const follower = new StreamFollower(process, { stream, wire, view, history }, withArchives(options, this.archives));
    await follower.start();
    return follower;
  }

  lastSequence(subject: string): Promise<number> {
    return this.asked('last sequence', PUBLISH_DEADLINE_MS, (answer) => {
      const sequence = this.stream.lastSequence(subject);
      answer(() => sequence);
    });
  }

  async bounds(): Promise<LogBounds> {
    const { state } = await this.view.info();
    return { first: state.first_seq, last: state.last_seq };
  }

  markAt(index: number): Promise<LogMark | undefined> {
    return this.view.markAt(index);
  }

  close(): void {
    this.history.close();
  }

  private append(
    draft: TxnDraft,
    deadlineMs: number | undefined,
    store: (message: TxnMessage) => StreamAnswer,
  ): Promise<Published> {
    const message = messageOf(draft);
    const atNats = (answer: (value: () => Published) => void): void => {
      const acknowledged = store(message);
      if (!this.wire.happens('ackLoss')) answer(() => this.publishedOf(message, acknowledged));
    };
    return this.asked(`log ${draft.type}`, deadlineMs ?? PUBLISH_DEADLINE_MS, atNats, () => this.history.gate());
  }

  /** @throws ConflictError, unless what it lost against is its own first copy (ST-6) */
  private publishedOf(message: TxnMessage, answer: StreamAnswer): Published {
    if (answer.kind === 'stored') return { index: answer.index, duplicate: answer.duplicate };
    const { expected, actual } = answer;
    const ours = this.stream.firstAfter(message.subject, expected);
    if (ours?.requestId === message.requestId) return { index: ours.index, duplicate: true };
    throw new ConflictError(message.subject, expected, actual);
  }

  private question<T>(label: string, atNats: () => T): Promise<T> {
    return this.wire.ask(this.process, label, QUESTION, atNats);
  }

  /** Asks NATS until it answers. @throws LogUnavailableError after `deadlineMs`, or if the log is another one */
  private asked<T>(
    name: string,
    deadlineMs: number,
    atNats: (answer: (value: () => T) => void) => void,
    gate: () => Promise<void> | undefined = () => undefined,
  ): Promise<T> {
    const { process, wire } = this;
    return new Promise((resolve, reject) => {
      let over = false;
      const settle = (take: () => void): void => {
        if (over) return;
        over = true;
        cancelDeadline();
        cancelRetry();
        take();
      };
      const fail = (error: unknown): void => reject(error instanceof Error ? error : new Error(String(error)));
      const cancelDeadline = process.after(deadlineMs, () =>
        settle(() => reject(new LogUnavailableError('no acknowledgement from NATS', { mayBeWritten: true }))),
      );
      let cancelRetry = (): void => {};
      const send = (): void => {
        if (over) return;
        wire.toNats(process, name, () =>
          atNats((value) =>
            wire.toProcess(process, `${name} answer`, () =>
              settle(() => {
                try {
                  resolve(value());
                } catch (error) {
                  fail(error);
                }
              }),
            ),
          ),
        );
        cancelRetry = process.after(ACK_TIMEOUT_MS, attempt);
      };
      const refused = (error: unknown): void => {
        const isUnavailable = error instanceof LogUnavailableError && !(error.cause instanceof LogDivergedError);
        if (isUnavailable) cancelRetry = process.after(RETRY_MS, attempt);
        else settle(() => fail(error));
      };
      const attempt = (): void => {
        if (over) return;
        try {
          const opening = gate();
          if (opening) opening.then(send, refused);
          else send();
        } catch (error) {
          refused(error);
        }
      };
      attempt();
    });
  }
}
