import {
  ConflictError,
  type Follower,
  type FollowOptions,
  type Log,
  LogUnavailableError,
  PUBLISH_DEADLINE_MS,
  type Published,
  type PublishOptions,
  withArchives,
} from '@waybill/journal';
import type { TxnDraft } from '@waybill/state';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { ArchivesOfProcess } from './archive-store.js';
import { StreamFollower } from './stream-follower.js';
import { messageOf, type StreamAnswer, type TxnMessage, type TxnStream } from './txn-stream.js';
import type { Wire } from './wire.js';

/** A publish without acknowledgement is sent again after this, as the real publisher does, milliseconds. */
const ACK_TIMEOUT_MS = 600;

/**
 * The log as one process sees it over the simulated network. A publish is sent until it is acknowledged or its deadline
 * is over; a message that is still on its way then may arrive and count all the same.
 */
export class SimulatedLog implements Log {
  constructor(
    private readonly process: SimulatedProcess,
    private readonly stream: TxnStream,
    private readonly wire: Wire,
    private readonly archives: ArchivesOfProcess,
  ) {}

  publish(draft: TxnDraft, options: PublishOptions = {}): Promise<Published> {
    const message = messageOf(draft);
    const expected = options.expectedLastSubjectSequence;
    const name = `log ${draft.type}`;
    return this.asked(name, options.deadlineMs ?? PUBLISH_DEADLINE_MS, (answer) => {
      const acknowledged = this.stream.append(message, expected);
      if (!this.wire.happens('ackLoss')) answer(() => this.publishedOf(message, acknowledged));
    });
  }

  async follow(options: FollowOptions): Promise<Follower> {
    return new StreamFollower(this.process, this.stream, this.wire, withArchives(options, this.archives));
  }

  lastSequence(subject: string): Promise<number> {
    return this.asked('last sequence', PUBLISH_DEADLINE_MS, (answer) => {
      const sequence = this.stream.lastSequence(subject);
      answer(() => sequence);
    });
  }

  /** @throws ConflictError, unless what it lost against is its own first copy (ST-6) */
  private publishedOf(message: TxnMessage, answer: StreamAnswer): Published {
    if (answer.kind === 'stored') return { index: answer.index, duplicate: answer.duplicate };
    const { expected, actual } = answer;
    const ours = this.stream.firstAfter(message.subject, expected);
    if (ours?.requestId === message.requestId) return { index: ours.index, duplicate: true };
    throw new ConflictError(message.subject, expected, actual);
  }

  /** Asks NATS until it answers. @throws LogUnavailableError after `deadlineMs` */
  private asked<T>(name: string, deadlineMs: number, atNats: (answer: (value: () => T) => void) => void): Promise<T> {
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
      const cancelDeadline = process.after(deadlineMs, () =>
        settle(() => reject(new LogUnavailableError('no acknowledgement from NATS', { mayBeWritten: true }))),
      );
      let cancelRetry = (): void => {};
      const send = (): void => {
        wire.toNats(process, name, () =>
          atNats((value) =>
            wire.toProcess(process, `${name} answer`, () =>
              settle(() => {
                try {
                  resolve(value());
                } catch (error) {
                  reject(error instanceof Error ? error : new Error(String(error)));
                }
              }),
            ),
          ),
        );
        cancelRetry = process.after(ACK_TIMEOUT_MS, send);
      };
      send();
    });
  }
}
