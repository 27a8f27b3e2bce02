import type { LogRecoveryDeps } from '@waybill/api';
import { type EventStorage, storedPart, TIME_HEADER } from '@waybill/projection';
import { type AddressedPart, type EventStream, type EventTail, NO_FRAME } from '@waybill/projector';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { Wire } from './wire.js';

const TIMEOUT_MS = 2_000;

/** The stream `EVENTS`: parts of frames behind each other, appended on condition of the last sequence. */
export class EventStore {
  readonly parts: AddressedPart[] = [];

  constructor(
    private readonly wire: Wire,
    private readonly random: SeededRandom,
  ) {}

  streamOf(process: SimulatedProcess): EventStream {
    return {
      tail: () => this.asked(process, 'events tail', () => this.tail()),
      onReturn: (listener) => this.wire.connectionOf(process).onChange((up) => up && listener()),
      refusalOf: () => undefined,
      append: (parts, sequence) => this.asked(process, 'events append', () => this.append(parts, sequence)),
    };
  }

  /** As an API reads it. */
  readBy(process: SimulatedProcess): EventStorage {
    return {
      bounds: () => this.asked(process, 'events bounds', () => ({ first: 1, last: this.parts.length })),
      readParts: (sequence, messages) =>
        this.asked(process, 'events read', () =>
          this.parts
            .slice(sequence - 1, sequence - 1 + messages)
            .map(({ headers, data }, at) => storedPart(sequence + at, (name) => headers[name] ?? '', data)),
        ),
    };
  }

  /** Power was cut: the last few parts were not synced, and are gone. */
  loseLast(parts: number): void {
    this.parts.length = Math.max(0, this.parts.length - parts);
  }

  /** What an operator's decision needs. */
  decidedBy(process: SimulatedProcess): LogRecoveryDeps['events'] {
    return {
      newest: () =>
        this.asked(process, 'events newest', () => {
          const last = this.parts.at(-1);
          return last && { index: last.index, timeNs: timeOf(last) };
        }),
      removeAbove: (index) =>
        this.asked(process, 'events remove', () => {
          this.parts.length = this.parts.filter((part) => part.index <= index).length;
        }),
    };
  }

  private tail(): EventTail {
    const last = this.parts.at(-1);
    const sequence = this.parts.length;
    return last ? { ...last, sequence, end: sequence, timeNs: timeOf(last) } : { sequence, end: sequence, ...NO_FRAME };
  }

  /** @throws when the stream does not end at `sequence`; after an acknowledgement was lost perhaps only the first few are there */
  private append(parts: readonly AddressedPart[], sequence: number): number {
    if (this.parts.length !== sequence) throw new Error(`EVENTS ends at ${this.parts.length}, not at ${sequence}`);
    if (this.wire.happens('ackLoss')) {
      this.parts.push(...parts.slice(0, this.random.below(parts.length + 1)));
      throw new Error('EVENTS stopped answering');
    }
    this.parts.push(...parts);
    return this.parts.length;
  }

  private asked<T>(process: SimulatedProcess, label: string, atNats: () => T): Promise<T> {
    return this.wire.ask(process, label, { timeoutMs: TIMEOUT_MS, unanswered: 'ackLoss' }, atNats);
  }
}

const timeOf = ({ headers }: AddressedPart): number => Number(headers[TIME_HEADER]);
