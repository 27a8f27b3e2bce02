import type { Clock, Timers } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { draftTxn, isRejected, serviceActor } from '@waybill/state';
import type { Applied, Role, TableName, TxnDraft, TxnType } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { Lease } from './lease.js';
import type { LeaseStore } from './lease-store.js';
import { type Singleton, type Term, termOf } from './singleton.js';

/** Pause before `LeaseAcquired` is proposed again after the log failed or refused it, milliseconds. */
export const PROPOSE_PAUSE_MS = 100;
/** Pause before the lease is requested again after the singleton failed: doubles from the first to the second. */
export const FIRST_FAILURE_PAUSE_MS = 250;
export const MAX_FAILURE_PAUSE_MS = 10_000;

/** The transaction types that a copy of the state must read if only leases are read from it. */
export const LEASE_TXNS: ReadonlySet<TxnType> = new Set(['LeaseAcquired', 'StateRestore']);
export const LEASE_TABLES: readonly TableName[] = ['leases'];

export interface LeaseRunnerOptions {
  readonly singleton: Singleton;
  readonly store: LeaseStore;
  /** This process' copy of the state. */
  readonly state: Pick<ReplicatedState, 'tables' | 'onApplied' | 'propose'>;
  /** Unique to this process and this start of it. */
  readonly holder: string;
  readonly ttlMs: number;
  /** Wall clock, for the transaction's time. */
  readonly clock: Clock;
  /** Monotonic clock, for the lease; see `monotonicClock`. */
  readonly monotonic: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly region: string;
  readonly logger: Logger;
  /** Called when the singleton was started for a term, and with undefined when that term is over. */
  onTerm?(term: Term | undefined): void;
}

/** Monotonic milliseconds, which continue while a signal stops the process. */
export const monotonicClock: Clock = { nowMs: () => performance.now() };

/**
 * Runs a singleton in one of many processes.
 *
 * Modes: follower → acquiring → holder → follower; stopped.
 * follower: contends for the lease.
 * acquiring: holds the lease, has published `LeaseAcquired` with the stored epoch + 1, and waits until this copy of the
 * state has applied it as accepted. If it is refused or unanswered, it is published again while the lease is held.
 * holder: the singleton is started, and gets every transaction that is applied from then on. The term ends when the
 * lease is lost, or when the copy applies another `LeaseAcquired` of the same role: everything is then dropped at once.
 * A restore replaces the state: the term ends, and the next one, which begins from the restored state, is acquired
 * under the same lease. If the singleton throws, the term ends, the lease is released, and requested again after a
 * growing pause. The next term begins only when the singleton's `stop` has finished.
 */
export class LeaseRunner {
  private readonly role: Role;
  private readonly lease: Lease;
  private mode: 'follower' | 'acquiring' | 'holder' | 'stopped' = 'follower';
  private current: Term | undefined;
  private stopping: Promise<void> = Promise.resolve();
  private failures = 0;
  private attempt = 0;
  private announced = false;
  private acquiringSinceMs = 0;
  /** Whether the state was restored, and no term has begun since. */
  private isRestored = false;
  private offApplied: (() => void) | undefined;

  constructor(private readonly options: LeaseRunnerOptions) {
    this.role = options.singleton.role;
    this.lease = new Lease({
      store: options.store,
      role: this.role,
      holder: options.holder,
      ttlMs: options.ttlMs,
      clock: options.monotonic,
      timers: options.timers,
      onGain: () => void this.acquire(),
      onLoss: (reason) => this.endTerm(`the lease was lost: ${reason}`),
    });
  }

  /** The current term, if this process is the holder. */
  get term(): Term | undefined {
    return this.current;
  }

  /** Epoch of the current term; undefined if this process is not the holder. */
  get epoch(): number | undefined {
    return this.current?.epoch;
  }

  stats(): Record<string, number> {
    return { ...this.options.singleton.stats(), holder: this.current ? 1 : 0, epoch: this.current?.epoch ?? 0 };
  }

  /** Begins to contend. The copy of the state must have caught up with the log. */
  start(): void {
    this.offApplied ??= this.options.state.onApplied((applied) => this.applied(applied));
    this.lease.start();
  }

  /** Ends the term, waits for the singleton to stop, then releases the lease, so that a successor need not wait. */
  async stop(): Promise<void> {
    this.endTerm('the service stops');
    this.mode = 'stopped';
    await this.stopping;
    await this.lease.stop();
    this.offApplied?.();
  }

  // ---- acquiring

  private async acquire(): Promise<void> {
    if (this.mode !== 'follower') return;
    this.mode = 'acquiring';
    this.acquiringSinceMs = this.options.monotonic.nowMs();
    const attempt = ++this.attempt;
    await this.stopping;
    while (this.isAcquiring(attempt)) {
      if (!this.lease.held) {
        this.mode = 'follower';
        return;
      }
      await this.proposeOnce();
      if (this.isAcquiring(attempt)) await this.pause(PROPOSE_PAUSE_MS);
    }
  }

  /** Proposes `LeaseAcquired` once. Success shows in `applied`, which is called before `propose` resolves. */
  private async proposeOnce(): Promise<void> {
    const { logger, state } = this.options;
    try {
      const { verdict } = await state.propose(this.leaseAcquired(this.storedEpoch() + 1));
      if (isRejected(verdict)) logger.info('lease refused by the log', { role: this.role, reason: verdict.error });
    } catch (error) {
      logger.warn('cannot announce the lease', { role: this.role, error });
    }
  }

  private leaseAcquired(epoch: number): TxnDraft<'LeaseAcquired'> {
    const { clock, newId, region, holder } = this.options;
    return draftTxn(
      'LeaseAcquired',
      { Role: this.role, Epoch: epoch, Holder: holder },
      { timeNs: clock.nowMs() * 1e6, requestId: newId(), actor: serviceActor(this.role), region },
    );
  }

  private storedEpoch(): number {
    return this.options.state.tables.leases.get(this.role)?.Epoch ?? 0;
  }

  // ---- this process' copy of the state

  private applied(applied: Applied): void {
    const { txn } = applied;
    if (txn.type === 'LeaseAcquired' && txn.payload.Role === this.role && applied.verdict.kind === 'accepted') {
      this.roleTaken(txn.payload.Holder, txn.payload.Epoch);
      return;
    }
    if (txn.type === 'StateRestore' && applied.verdict.kind === 'accepted') {
      this.isRestored = true;
      if (this.mode !== 'holder') return;
      this.endTerm('the state was restored');
      void this.acquire();
      return;
    }
    if (this.mode !== 'holder') return;
    try {
      this.options.singleton.applied(applied);
    } catch (error) {
      this.failed('applied', error);
    }
  }

  private roleTaken(holder: string, epoch: number): void {
    const ours = holder === this.options.holder;
    const followsRestore = this.isRestored;
    this.isRestored = false;
    if (this.mode === 'holder') {
      // This also happens for a late copy of an earlier proposal of ours. The epoch has moved, so this term is over.
      this.endTerm(`epoch ${epoch} was given to ${ours ? 'a later term' : holder}`);
      void this.lease.release(0);
    } else if (this.mode === 'acquiring' && ours && this.lease.held) this.beginTerm(epoch, followsRestore);
  }

  // ---- the term

  private beginTerm(epoch: number, followsRestore: boolean): void {
    const { singleton, logger } = this.options;
    const { role } = this;
    const term: Term = termOf(role, epoch, {
      holder: this.options.holder,
      barrierMs: this.options.monotonic.nowMs() - this.acquiringSinceMs,
      followsRestore,
      isCurrent: () => this.current === term && this.lease.held,
    });
    this.mode = 'holder';
    this.current = term;
    logger.info('role taken', { role, epoch });
    const begun = (): void => {
      if (this.current === term) this.failures = 0;
    };
    const failed = (error: unknown): void => {
      if (this.current === term) this.failed('start', error);
    };
    try {
      const starting = singleton.start(term);
      if (starting) starting.then(begun, failed);
      else begun();
    } catch (error) {
      failed(error);
    }
    if (this.current !== term) return;
    this.announced = true;
    this.options.onTerm?.(term);
  }

  private failed(verb: 'start' | 'applied', error: unknown): void {
    const pauseMs = Math.min(MAX_FAILURE_PAUSE_MS, FIRST_FAILURE_PAUSE_MS * 2 ** this.failures++);
    this.options.logger.error('a singleton failed; its role is given back', { role: this.role, verb, error });
    this.endTerm(`${verb} failed`);
    void this.stopping.then(() => this.lease.release(pauseMs));
  }

  private endTerm(reason: string): void {
    if (this.mode === 'stopped') return;
    const term = this.current;
    this.mode = 'follower';
    this.current = undefined;
    if (!term) return;
    const { singleton, logger } = this.options;
    logger.info('role given up', { role: this.role, epoch: term.epoch, reason });
    if (this.announced) this.options.onTerm?.(undefined);
    this.announced = false;
    this.stopping = this.stopSingleton(singleton);
  }

  private async stopSingleton(singleton: Singleton): Promise<void> {
    try {
      await singleton.stop();
    } catch (error) {
      this.options.logger.error('a singleton failed to stop', { role: this.role, error });
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.options.timers.after(ms, resolve));
  }

  /** Whether this attempt is still the current one: the lease may be lost, and even regained, during an await. */
  private isAcquiring(attempt: number): boolean {
    return this.mode === 'acquiring' && this.attempt === attempt;
  }
}
