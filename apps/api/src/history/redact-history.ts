import type { HistoryRedaction, OtherRow } from '@waybill/projection';
import type { ReadLogOptions } from '@waybill/replica';
import type { Txn } from '@waybill/state';
import type { TransactionWriter } from '@waybill/writing';
import { type Clock, pause, type Timers } from '@waybill/model';
import { conflict, serverFailure } from '../http/api-error.js';
import type { Requester } from '../http/requester.js';
import { planRedaction, type RedactedVersion } from './decisions/redaction.js';
import type { SecretText } from './secret-text.js';

/** The time in milliseconds until the projector must have erased the log. */
export const ERASE_TIMEOUT_MS = 60_000;
const ERASE_LOOK_MS = 100;
/**
 * The padding that is written before the log is erased, in transactions of a size that every NATS server takes. JetStream
 * rewrites a file whose beginning was removed only if the file has more than 2 MB, most of which is gone; otherwise the
 * removed transactions would stay on the disk.
 */
const PADDINGS = 6;
const PADDING_CHARS = 448 * 1024;
/** The largest number of indexes that an answer names. */
export const MAX_NAMED_INDEXES = 20;

/** Redacted names the places of a secret, which were replaced or would be. */
export interface Redacted {
  /** The index of the last transaction that replaced something; 0 if the state did not contain the secret. */
  readonly Index: number;
  readonly Versions: readonly RedactedVersion[];
  /** The numbers of job files, of allocations beside their job, and of records of the history. */
  readonly Submissions: number;
  readonly Allocations: number;
  readonly Records: number;
  /** The number of transactions in the log that contain the secret. Only counted, not replaced: `erase` removes them. */
  readonly Transactions: number;
  /** Reasons why nothing can be replaced yet. */
  readonly InUse: readonly string[];
  /** Names that contain the secret. A name cannot be replaced. */
  readonly Names: readonly string[];
  /** Rows that contain the secret and are not about jobs: their own commands change them. */
  readonly Others: readonly OtherRow[];
}

/** Erased is the state of the log after an erasure. */
export interface Erased {
  /** The log's first index. */
  readonly Index: number;
  /** Indexes of transactions that still contain the secret, at most MAX_NAMED_INDEXES. */
  readonly Found: readonly number[];
}

export interface RedactHistoryDeps {
  readonly redaction: Pick<HistoryRedaction, 'find' | 'count' | 'blank'>;
  readonly writer: Pick<TransactionWriter, 'write'>;
  /** Returns the first and the last index of the log. */
  readonly bounds: () => Promise<{ readonly first: number; readonly last: number }>;
  /** Reads a part of the log. */
  readonly readLog: (options: Pick<ReadLogOptions, 'first' | 'last' | 'take'>) => Promise<void>;
  /** Called when rows have changed without a transaction. */
  readonly onBlanked: () => void;
  readonly timers: Timers;
  readonly monotonic: Clock;
}

/**
 * RedactHistory removes a secret that a user wrote into a job file (ST-185, ST-186): `redact` replaces it in the state
 * by transactions and then in the history of PostgreSQL; `erase` has the projector remove the log and the events that
 * contain it. Both may be repeated after a failure. No transaction, line of output or audit record contains the value.
 *
 * idle ⇄ working: while one call works, others are refused, except `find`, which changes nothing.
 * Cost: every call reads every row of PostgreSQL as a text, or the whole log, or both. Memory: the rows that contain the
 * value, at most MAX_FOUND_ROWS.
 */
export class RedactHistory {
  private running: Promise<unknown> | undefined;

  constructor(private readonly deps: RedactHistoryDeps) {}

  /** Finds the places that `redact` would replace. */
  async find(secret: SecretText): Promise<Redacted> {
    const { redaction } = this.deps;
    const found = await redaction.find(secret);
    const { versions, inUse, names } = planRedaction(found, secret);
    return {
      Index: 0,
      Versions: versions,
      Submissions: found.submissions.length,
      Allocations: found.allocs.length,
      Records: await redaction.count(secret),
      Transactions: (await this.transactionsWith(secret)).length,
      InUse: inUse,
      Names: names,
      Others: found.others,
    };
  }

  /** @throws Refusal conflict if the secret is in use, is part of a name, or another request redacts now */
  redact(secret: SecretText, requester: Requester): Promise<Redacted> {
    return this.alone(async () => {
      const { redaction, writer, onBlanked } = this.deps;
      const found = await redaction.find(secret);
      const { transactions, versions, inUse, names } = planRedaction(found, secret);
      if (inUse.length > 0) throw conflict(`the value is still in use: ${inUse.join('; ')}`);
      if (names.length > 0)
        throw conflict(`the value is part of a name, which cannot be replaced: ${names.join('; ')}`);
      let index = 0;
      for (const payload of transactions)
        ({ index } = await writer.write({ type: 'HistoryRedact', payload }, requester.laterAuthor));
      const records = await redaction.blank(secret);
      onBlanked();
      return {
        Index: index,
        Versions: versions,
        Submissions: found.submissions.length,
        Allocations: found.allocs.length,
        Records: records,
        Transactions: 0,
        InUse: [],
        Names: [],
        Others: found.others,
      };
    });
  }

  /** @throws Refusal conflict; internal if the projector does not erase the log in time */
  erase(secret: SecretText, requester: Requester): Promise<Erased> {
    return this.alone(async () => {
      const { author, laterAuthor } = requester;
      const padding = { type: 'HistoryErase', payload: { Padding: ' '.repeat(PADDING_CHARS) } } as const;
      for (let n = 0; n < PADDINGS; n++) await this.deps.writer.write(padding, laterAuthor);
      const { index } = await this.deps.writer.write({ type: 'HistoryErase', payload: { Padding: '' } }, author);
      const Index = await this.awaitErased(index);
      return { Index, Found: (await this.transactionsWith(secret)).slice(0, MAX_NAMED_INDEXES) };
    });
  }

  /** Returns the indexes of the transactions in the log that contain the secret. */
  private async transactionsWith({ needles }: SecretText): Promise<number[]> {
    const { bounds, readLog } = this.deps;
    const { first, last } = await bounds();
    const found: number[] = [];
    const take = (txns: readonly Txn[]): void => {
      for (const { index, payload, reason } of txns) {
        const text = `${JSON.stringify(payload)} ${reason}`;
        if (needles.some((needle) => text.includes(needle))) found.push(index);
      }
    };
    await readLog({ first, last, take });
    return found;
  }

  /** Returns the log's first index. */
  private async awaitErased(index: number): Promise<number> {
    const { bounds, timers, monotonic } = this.deps;
    for (const untilMs = monotonic.nowMs() + ERASE_TIMEOUT_MS; ;) {
      const found = await bounds();
      if (found.first >= index) return found.first;
      if (monotonic.nowMs() >= untilMs)
        throw serverFailure(
          `the erasure is written as index ${index}; the projector has not erased the log yet and will do so`,
        );
      await pause(timers, ERASE_LOOK_MS);
    }
  }

  private async alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.running) throw conflict('another request redacts the history now; try again when it has ended');
    const running = work();
    this.running = running;
    try {
      return await running;
    } finally {
      this.running = undefined;
    }
  }
}
