import { type Log, LogDivergedError, LogRewoundError, LogTrimmedError } from '@waybill/journal';
import type { Singleton, Term } from '@waybill/roles';
import { type CancelTimer, type Clock, type Timers, errorText, pause } from '@waybill/model';
import {
  announcementsOf,
  databaseErrorCode,
  isTransientDatabaseError,
  ProjectionMovedError,
  type SetAsideRow,
  SharedTexts,
  standingAt,
} from '@waybill/projection';
import { type Applied, StateMachine, type Txn } from '@waybill/state';
import { replay } from '@waybill/replica';
import type { Logger } from '@waybill/telemetry';
import { type ApplyMeter, noApplyMeter } from './apply-timers.js';
import { Backlog } from './backlog.js';
import { FIRST_PAUSE_MS, LONGEST_PAUSE_MS, retried } from './backoff.js';
import type { AddressedPart, EventStream } from './event-stream.js';
import { framePartsOf } from './frame-parts.js';
import { EventsRewoundError, FrameWriter } from './frame-writer.js';
import type { Announcer, ProjectionStore } from './projection-store.js';

/**
 * The shortest time in milliseconds between the beginnings of two batches. Without it, at 500 transactions a second,
 * each transaction was a batch of its own, and all servers together used a quarter more CPU. A write after a pause does
 * not wait.
 */
export const BATCH_INTERVAL_MS = 4;

/** The largest number of refused rows of one transaction that the log names. */
const MAX_NAMED_ROWS = 5;

/** The interval in milliseconds of the announcements of the projection's index while nothing happens. */
export const STANDING_MS = 1_000;

export interface ProjectorOptions {
  readonly log: Log;
  readonly events: EventStream;
  readonly store: ProjectionStore;
  readonly announcer: Announcer;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Receives the error that the log is not the one to which the frames in EVENTS belong. */
  readonly onDiverged: (error: LogDivergedError) => void;
  /** Called when PostgreSQL has a transaction that erases the history. [ST-186] */
  readonly onErasure?: () => void;
  /** The interval as in BATCH_INTERVAL_MS. The default is 0: a batch begins when the one before is written. */
  readonly batchIntervalMs?: number;
  /** Measures how long transactions take to apply. By default nothing measures them. */
  readonly metered?: ApplyMeter;
}

/** ProjectorCounters counts the projector's work for metrics. */
export interface ProjectorCounters {
  applied: number;
  batches: number;
  txns: number;
  rows: number;
  frames: number;
  sessions: number;
  /**
   * The number of failed attempts to write to EVENTS or Postgres, or to read the log. The projector repeats all of
   * them.
   */
  applyErrors: number;
  /**
   * The number of transactions that this process read more than once. A session reads again what the session before
   * could not write.
   */
  redelivered: number;
  /** The age of the newest transaction when it was announced, in milliseconds. */
  lagMs: number;
  /** The number of rows that Postgres refused and that are set aside, as the store last returned it. */
  setAside: number;
  /** The number of frames that EVENTS could not take and that a substitute replaced. */
  replacedFrames: number;
  /** The number of indexes whose frames EVENTS lost and that could not be made again. */
  lostFrames: number;
}

/**
 * Projector projects the log. For every batch of transactions it writes (1) their events to EVENTS, (2) their changes
 * to Postgres, (3) the announcement. Because of this order a crash at any point omits nothing and repeats nothing: the
 * projector computes again what is above Postgres' index, and publishes only the frames behind the end of EVENTS
 * (EV-60).
 *
 * Modes: idle → projecting → idle. Projecting is a sequence of sessions. A session loads the state from Postgres into a
 * machine of its own, follows the log from there, and writes what arrived during the write of the batch before. It ends
 * with the term, or when Postgres is not where the session left it (another projector wrote, or the database was
 * restored). The next session then begins from Postgres again. While Postgres or NATS is down the projector waits.
 *
 * A power cut may take the end of EVENTS and leave the log and Postgres whole. So a session compares the newest frame
 * with the index of the newest frame that Postgres has recorded, and makes missing frames again from the log. If the
 * newest frame belongs to a transaction that the log does not have, the log has lost its end, and an operator must
 * decide.
 *
 * No single transaction stops the projector. The store sets aside a row that Postgres refuses. A substitute replaces a
 * frame that EVENTS could never take. A transaction whose application fails is refused. Each case is logged and
 * counted, and the projector continues.
 *
 * A deposed projector does no harm: EVENTS takes a frame only behind the last one, Postgres moves only from the
 * expected index, and both projectors would write the same.
 * Limits: see backlog.ts. Memory: one more copy of the state, because the log must wait for Postgres and the process's
 * own copy must not; and one further copy from the first attempt to make lost frames again until EVENTS is whole.
 */
export class Projector implements Singleton {
  readonly role = 'projector';
  private stopper: AbortController | undefined;
  private running: Promise<void> = Promise.resolve();
  private backlog = new Backlog();
  private readonly counters: ProjectorCounters = {
    applied: 0,
    batches: 0,
    txns: 0,
    rows: 0,
    frames: 0,
    sessions: 0,
    applyErrors: 0,
    redelivered: 0,
    lagMs: 0,
    setAside: 0,
    replacedFrames: 0,
    lostFrames: 0,
  };
  /**
   * The state that making frames again has reached. It outlives the term: if reading the log takes longer than a term,
   * several terms read it.
   */
  private remaking: StateMachine | undefined;
  /** The highest index that any session has read. */
  private readTo = 0;

  constructor(private readonly options: ProjectorOptions) {}

  start(term: Term): void {
    const stopper = new AbortController();
    this.stopper = stopper;
    this.running = this.project(term, stopper.signal);
  }

  /** Ignores the call, because the projector reads the log itself, as fast as Postgres takes it. */
  applied(): void {}

  async stop(): Promise<void> {
    this.stopper?.abort();
    this.backlog.close();
    await this.running;
  }

  stats(): Record<string, number> {
    return { ...this.counters, backlog: this.backlog.size };
  }

  private async project(term: Term, signal: AbortSignal): Promise<void> {
    const { logger, timers } = this.options;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted;) {
      const before = this.counters.batches;
      try {
        await this.session(term, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof LogDivergedError) this.options.onDiverged(error);
        this.counters.applyErrors += 1;
        if (error instanceof ProjectionMovedError || (error instanceof Error && databaseErrorCode(error) !== ''))
          logger.warn('the projection begins again from Postgres', { reason: error.message });
        else logger.error('the projection was interrupted', { error });
      }
      pauseMs = this.counters.batches > before ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      await pause(timers, pauseMs, signal);
    }
  }

  private async session(term: Term, signal: AbortSignal): Promise<void> {
    const { log, store, events, clock, timers, batchIntervalMs = 0 } = this.options;
    const machine = new StateMachine();
    this.counters.applied = await store.load(machine);
    this.counters.setAside = await store.setAside();
    this.counters.sessions += 1;
    const writer = new FrameWriter(events, await events.tail());
    const framed = await store.framedIndex();
    if (writer.hasLost(framed)) await this.remakeFrames(writer, framed, machine.appliedIndex, signal);
    else this.remaking = undefined; // another process has made them
    if (signal.aborted) return;
    const backlog = (this.backlog = new Backlog());
    let failure: Error | undefined;
    const end = (error: Error): void => {
      failure ??= error;
      backlog.close();
    };
    const onAbort = (): void => backlog.close();
    signal.addEventListener('abort', onAbort);
    const follower = await log.follow({
      from: machine.appliedIndex + 1,
      after: machine.mark,
      onTxns: (txns) => this.intake(machine, backlog, txns),
      onError: end,
    });
    const begunAt = writer.framed;
    const isShorter = (last: number): boolean => last < begunAt;
    follower.caughtUp.then(
      (last) => isShorter(last) && end(new LogRewoundError(begunAt, last)),
      () => {}, // `onError` is told
    );
    const offReturn = events.onReturn(() => {
      writer.checkTail().catch((error: unknown) => error instanceof EventsRewoundError && end(error));
    });
    const stopStanding = this.tellStanding(writer);
    try {
      for (let batch = await backlog.next(); batch && term.isCurrent(); batch = await backlog.next()) {
        const beganMs = clock.nowMs();
        await this.write(batch, writer, signal);
        const leftMs = beganMs + batchIntervalMs - clock.nowMs();
        if (leftMs > 0) await pause(timers, Math.min(leftMs, batchIntervalMs), signal);
      }
      if (failure) throw failure;
    } finally {
      offReturn();
      stopStanding();
      signal.removeEventListener('abort', onAbort);
      backlog.close();
      await follower.stop();
    }
  }

  private async write(applied: readonly Applied[], writer: FrameWriter, signal: AbortSignal): Promise<void> {
    const { clock, announcer, logger } = this.options;
    const last = applied.at(-1);
    if (!last) return;
    // The events are made only here: in the backlog they would be many times as large as the changes.
    const texts = new SharedTexts();
    for (const one of applied) writer.compare(one);
    const parts = applied.flatMap((one) => this.partsOfEvents(one, texts));
    await this.writeAtOnce(applied, texts, parts, writer).catch(async (error: unknown) => {
      if (error instanceof EventsRewoundError || !isTransientDatabaseError(error)) throw error;
      this.counters.applyErrors += 1;
      await this.patiently(
        'EVENTS',
        signal,
        (error) => !(error instanceof EventsRewoundError),
        () => writer.publish(parts),
      );
      await this.patiently('Postgres', signal, isTransientDatabaseError, () =>
        this.store(applied, texts, writer.framed),
      );
    });
    if (this.counters.setAside > 0) this.counters.setAside = await this.options.store.setAside();
    const appliedAtMs = clock.nowMs();
    for (const message of announcementsOf(applied, { appliedAtMs, eventSequence: writer.sequence }))
      announcer.send(message);
    if (applied.some(({ txn, verdict }) => txn.type === 'HistoryErase' && verdict.kind === 'accepted'))
      this.options.onErasure?.();
    this.counters.applied = last.index;
    this.counters.batches += 1;
    this.counters.txns += applied.length;
    this.counters.frames += parts.filter(({ part }) => part === 1).length;
    this.counters.rows += applied.reduce((rows, one) => rows + one.changes.length, 0);
    this.counters.lagMs = Math.max(0, appliedAtMs - last.txn.timeNs / 1e6);
    logger.trace('projected', { to: last.index, txns: applied.length });
  }

  /**
   * Makes one attempt, in which Postgres runs the statements while EVENTS takes the frames, and commits once EVENTS has
   * them.
   * @throws the error of either. Both may have been written; the next attempt finds out.
   */
  private async writeAtOnce(
    applied: readonly Applied[],
    texts: SharedTexts,
    parts: readonly AddressedPart[],
    writer: FrameWriter,
  ): Promise<void> {
    const framed = Math.max(writer.framed, parts.at(-1)?.index ?? 0);
    const published = writer.publish(parts);
    published.catch(() => {}); // thrown by the store, which waits for it
    await this.store(applied, texts, framed, published);
    await published;
  }

  /**
   * Writes a batch. If Postgres is already at or above the batch's end, the batch is there: a commit whose answer was
   * lost wrote it, or another projector, which writes the same.
   */
  private async store(
    applied: readonly Applied[],
    texts: SharedTexts,
    framed: number,
    published?: Promise<void>,
  ): Promise<void> {
    const to = applied.at(-1)?.index ?? 0;
    try {
      const refused = await this.options.store.write(applied, texts, framed, published);
      this.counters.setAside += refused.length;
      this.reportSetAside(refused);
    } catch (error) {
      if (!(error instanceof ProjectionMovedError) || error.actual < to) throw error;
    }
  }

  /**
   * Makes the frames again that EVENTS lost with its end, up to Postgres' index.
   * Cost: it applies the log from its beginning, or from where an earlier term stopped; it holds one batch of frames in
   * memory.
   * @throws the reason of the signal if the term ends meanwhile
   */
  private async remakeFrames(writer: FrameWriter, framed: number, to: number, signal: AbortSignal): Promise<void> {
    const { log, logger } = this.options;
    const from = writer.framed;
    logger.warn('EVENTS has lost its end; the frames are made again from the log', { from, framed });
    try {
      const take = async (applied: readonly Applied[]): Promise<void> => {
        const lost = applied.filter(({ index }) => index >= from);
        for (const one of lost) writer.compare(one);
        const texts = new SharedTexts();
        await writer.publish(lost.flatMap((one) => this.partsOfEvents(one, texts)));
      };
      if (!this.remaking || this.remaking.appliedIndex >= from) this.remaking = new StateMachine();
      await replay(log, this.remaking, to, { take, signal });
      this.remaking = undefined;
      logger.info('EVENTS is whole again', { framed: writer.framed });
    } catch (error) {
      if (!(error instanceof LogTrimmedError)) throw error;
      this.remaking = undefined;
      this.counters.lostFrames = framed - from;
      logger.error(
        'EVENTS has lost frames that cannot be made again, because the log does not begin with its first transaction',
        {
          from,
          framed,
          reason: error.message,
        },
      );
    }
  }

  private partsOfEvents(applied: Applied, texts: SharedTexts): readonly AddressedPart[] {
    const { events, logger } = this.options;
    const { parts, replaced } = framePartsOf(applied, texts, (part) => events.refusalOf(part));
    if (replaced !== undefined) {
      this.counters.replacedFrames += 1;
      const { index, txn } = applied;
      logger.error('EVENTS cannot take the events of a transaction; a frame without objects stands for them', {
        index,
        type: txn.type,
        reason: replaced,
      });
    }
    return parts;
  }

  /** Logs one line for each transaction. */
  private reportSetAside(rows: readonly SetAsideRow[]): void {
    for (const index of new Set(rows.map((row) => row.index))) {
      const refused = rows.filter((row) => row.index === index);
      const [first] = refused;
      this.options.logger.error(
        'Postgres refuses a part of a transaction; it is set aside, and everything else goes on',
        {
          index,
          type: first?.txnName,
          rows: refused.slice(0, MAX_NAMED_ROWS).map(({ part, object }) => `${part} ${object}`),
          count: refused.length,
          sqlstate: first?.sqlstate,
          reason: first?.error,
          next: 'waybill operator projection retry, after an upgrade or a repair',
        },
      );
    }
  }

  private patiently<T>(
    what: string,
    signal: AbortSignal,
    worthwhile: (error: unknown) => boolean,
    work: () => Promise<T>,
  ): Promise<T> {
    const { timers, logger } = this.options;
    return retried(work, {
      timers,
      signal,
      worthwhile,
      onFailure: (error, attempt) => {
        this.counters.applyErrors += 1;
        const reason = errorText(error);
        if (attempt === 1) logger.warn(`${what} does not take the projection; trying again`, { reason });
      },
    });
  }

  private tellStanding(writer: FrameWriter): CancelTimer {
    const { announcer, clock, timers } = this.options;
    let cancel: CancelTimer = () => {};
    const tell = (): void => {
      announcer.send(standingAt(this.counters.applied, { appliedAtMs: clock.nowMs(), eventSequence: writer.sequence }));
      cancel = timers.after(STANDING_MS, tell);
    };
    tell();
    return () => cancel();
  }

  private intake(machine: StateMachine, backlog: Backlog, txns: readonly Txn[]): Promise<void> {
    const { metered = noApplyMeter } = this.options;
    for (const txn of txns) {
      if (txn.index <= this.readTo) this.counters.redelivered += 1;
      else this.readTo = txn.index;
      const applied = metered(txn, () => machine.apply(txn));
      if (applied.defect)
        this.options.logger.error('a transaction could not be applied and is refused in every copy of the state', {
          index: txn.index,
          type: txn.type,
          error: applied.defect,
        });
      backlog.add(applied);
    }
    return backlog.room();
  }
}
