import type { NodeLoads } from '@waybill/state';
import type { Clock, Evaluation, SchedulerConfiguration, Timers } from '@waybill/model';
import { HolderWriter, type Term } from '@waybill/roles';
import type { ReplicatedState } from '@waybill/replica';
import type { Logger, Tracer } from '@waybill/telemetry';
import type { BlockedEvals } from './blocked/blocked-evals.js';
import { CoreTimers, type CorePeriods } from './housekeeping/core-timers.js';
import { DELIVERY_LIMIT, type EvalBrokerOptions } from './queue/delivery.js';
import type { EvalBroker } from './queue/eval-broker.js';
import { JointUpdates } from './joint-updates.js';
import type { Meter } from './meter.js';
import { PeriodicDispatcher, type PeriodicDispatcherDeps } from './housekeeping/periodic-dispatcher.js';
import { PlanApplier } from './plans/plan-applier.js';
import type { PlanQueue } from './plans/plan-queue.js';
import { FirstRootKey, type MakeRootKey } from './housekeeping/first-root-key.js';
import { Reapers } from './housekeeping/reapers.js';
import { VariableLocks } from './housekeeping/variable-locks.js';
import { type ItemSealer, VariableRekeying } from './housekeeping/variable-rekeying.js';
import { RootKeyUpkeep } from './housekeeping/root-key-upkeep.js';
import { RejectionTracker, type RejectionTrackerOptions } from './plans/rejection-tracker.js';

export interface SessionDeps {
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  /** Without it periodic jobs are launched by force only: for tests of other things. */
  readonly nextLaunchMs?: PeriodicDispatcherDeps['nextLaunchMs'];
  readonly region: string;
  readonly options?: Partial<EvalBrokerOptions>;
  readonly rejectionTracker?: Partial<RejectionTrackerOptions>;
  /** Accepted plans that may be uncommitted while the next one is verified (EB-262). */
  readonly pipelineDepth?: number;
  readonly meter?: Meter;
  /** The scheduler configuration that a new cluster starts with (OP-10); by default the contract's. */
  readonly defaultConfiguration?: SchedulerConfiguration;
  /** Of kinds of housekeeping whose interval is not the usual one. */
  readonly corePeriodsMs?: CorePeriods;
  /** Undefined: no wrapping key is configured, and the keyring is off. */
  readonly makeRootKey?: MakeRootKey | undefined;
  /** Undefined: the keyring is off. */
  readonly sealer?: ItemSealer | undefined;
  /** Resolves when the read model has the index; without it nobody waits for that. @throws ReadModelBehindError */
  readonly readable?: (index: number) => Promise<void>;
}

/** What outlives a term, empty between two of them. */
export interface Kept {
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly plans: PlanQueue;
  readonly loads: NodeLoads;
}

/**
 * What the broker has for one term only: everything that writes in its name, or acts by itself.
 *
 * Modes: applying plans (from the beginning) → at work too (`start`) → stopped, once and for all. Used for one term.
 */
export class Session {
  readonly writer: HolderWriter;
  readonly updates: JointUpdates;
  readonly reapers: Reapers;
  readonly coreTimers: CoreTimers;
  readonly periodic: PeriodicDispatcher;
  readonly firstRootKey: FirstRootKey;
  readonly rootKeyUpkeep: RootKeyUpkeep;
  readonly variableRekeying: VariableRekeying;
  readonly variableLocks: VariableLocks;
  readonly rejections: RejectionTracker;
  /** Settles when the plan queue is disabled and all that was in flight is answered. */
  readonly applierEnded: Promise<void>;

  constructor(deps: SessionDeps, { evals, blocked, plans, loads }: Kept, term: Term) {
    const { state, nextLaunchMs = () => undefined } = deps;
    const { tables } = state;
    const writer = new HolderWriter(deps, term.fence);
    const deliveryLimit = deps.options?.deliveryLimit ?? DELIVERY_LIMIT;
    this.writer = writer;
    this.updates = new JointUpdates(writer);
    this.reapers = new Reapers({ ...deps, broker: evals, blocked, tables, writer, deliveryLimit });
    this.rejections = new RejectionTracker(deps.clock, deps.rejectionTracker); // EB-289
    this.coreTimers = new CoreTimers({
      ...deps,
      index: () => state.appliedIndex,
      enqueue: (evaluation) => evals.enqueue(evaluation),
      periodsMs: deps.corePeriodsMs ?? {},
    });
    this.periodic = new PeriodicDispatcher({ ...deps, tables, writer, nextLaunchMs });
    this.firstRootKey = new FirstRootKey({ ...deps, tables, writer });
    this.rootKeyUpkeep = new RootKeyUpkeep({ ...deps, tables, writer });
    this.variableRekeying = new VariableRekeying({ ...deps, tables, writer });
    this.variableLocks = new VariableLocks({ ...deps, tables, writer });
    plans.setEnabled(true);
    this.applierEnded = new PlanApplier({
      ...deps,
      queue: plans,
      tables,
      loads,
      waitFor: (index, timeoutMs) => state.waitFor(index, timeoutMs),
      writer,
      rejections: this.rejections,
    }).run();
  }

  /** Whether this term raised the housekeeping evaluation. */
  raised(evaluation: Evaluation): boolean {
    return this.coreTimers.raised(evaluation);
  }

  start(): void {
    this.reapers.start();
    this.coreTimers.start();
    this.periodic.start();
    this.rootKeyUpkeep.start();
    this.variableRekeying.start();
    this.variableLocks.start();
  }

  stop(): void {
    this.reapers.stop();
    this.coreTimers.stop();
    this.periodic.stop();
    this.variableLocks.stop();
    this.firstRootKey.stop();
    this.rootKeyUpkeep.stop();
    this.variableRekeying.stop();
  }
}
