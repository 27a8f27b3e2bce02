import type { NodeLoads } from '@waybill/state';
import type { Clock, Evaluation, SchedulerConfiguration, Timers } from '@waybill/model';
import { HolderWriter, type Term } from '@waybill/roles';
import type { ReplicatedState } from '@waybill/replica';
import type { Logger, Tracer } from '@waybill/telemetry';
import type { BlockedEvals } from './blocked/blocked-evals.js';
import { CoreTimers, type CorePeriods } from './housekeeping/core-timers.js';
import { DELIVERY_LIMIT, type EvalBrokerOptions } from './queue/unacked-deliveries.js';
import type { EvalBroker } from './queue/eval-broker.js';
import { BatchedEvalUpdates } from './batched-eval-updates.js';
import type { Meter } from './meter.js';
import { PeriodicDispatcher, type PeriodicDispatcherDeps } from './housekeeping/periodic-dispatcher.js';
import { PlanApplier } from './plans/plan-applier.js';
import type { PlanQueue } from './plans/plan-queue.js';
import type { HousekeepingLoop } from './housekeeping/housekeeping-loop.js';
import { FirstRootKey, type MakeRootKey } from './housekeeping/first-root-key.js';
import { Reapers } from './housekeeping/reapers.js';
import { VariableLocks } from './housekeeping/variable-locks.js';
import { type ItemSealer, VariableRekeying } from './housekeeping/variable-rekeying.js';
import { type KeyRewrapper, RootKeyRewrapping } from './housekeeping/root-key-rewrapping.js';
import { RootKeyRotation, type RotationTimes } from './housekeeping/root-key-rotation.js';
import { RejectionTracker, type RejectionTrackerOptions } from './plans/rejection-tracker.js';

export interface BrokerTermDeps {
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  /** Absent in tests of other parts: periodic jobs are then launched by force only. */
  readonly nextLaunchMs?: PeriodicDispatcherDeps['nextLaunchMs'];
  readonly region: string;
  readonly options?: Partial<EvalBrokerOptions>;
  readonly rejectionTracker?: Partial<RejectionTrackerOptions>;
  /** Accepted plans that may be uncommitted while the applier verifies the next one (EB-262). */
  readonly pipelineDepth?: number;
  readonly meter?: Meter;
  /** The scheduler configuration of a new cluster (OP-10); by default the contract's. */
  readonly defaultConfiguration?: SchedulerConfiguration;
  /** Intervals of housekeeping that differ from CORE_PERIODS_MS. */
  readonly corePeriodsMs?: CorePeriods;
  /** Undefined: no wrapping key is configured, and the keyring is off. */
  readonly makeRootKey?: MakeRootKey | undefined;
  /** Undefined: the keyring is off. */
  readonly sealer?: ItemSealer | undefined;
  /** Undefined: the keyring is off. */
  readonly rotationTimes?: RotationTimes | undefined;
  readonly rewrapper?: KeyRewrapper | undefined;
  /** Resolves when the read model has the index; absent in tests, which do not wait for it. @throws ReadModelBehindError */
  readonly waitUntilReadable?: (index: number) => Promise<void>;
}

/** The parts of a broker that outlive a term. Between two terms they are empty. */
export interface LastingParts {
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly plans: PlanQueue;
  readonly loads: NodeLoads;
}

/**
 * The parts of the broker that live for one term: everything that writes in its name, or acts by a timer.
 *
 * Modes: applying plans (from construction) → housekeeping too (`start`) → stopped for good (`stop`).
 */
export class BrokerTerm {
  readonly writer: HolderWriter;
  readonly updates: BatchedEvalUpdates;
  readonly reapers: Reapers;
  readonly coreTimers: CoreTimers;
  readonly periodic: PeriodicDispatcher;
  readonly firstRootKey: FirstRootKey;
  private readonly keyLoops: readonly HousekeepingLoop[];
  readonly variableLocks: VariableLocks;
  readonly rejections: RejectionTracker;
  /** Resolves when the plan queue is disabled and every plan in flight is answered. */
  readonly applierEnded: Promise<void>;

  constructor(deps: BrokerTermDeps, { evals, blocked, plans, loads }: LastingParts, term: Term) {
    const { state, nextLaunchMs = () => undefined } = deps;
    const { tables } = state;
    const writer = new HolderWriter(deps, term.fence);
    const deliveryLimit = deps.options?.deliveryLimit ?? DELIVERY_LIMIT;
    this.writer = writer;
    this.updates = new BatchedEvalUpdates(writer);
    this.reapers = new Reapers({ ...deps, broker: evals, blocked, tables, writer, deliveryLimit });
    // A term begins without rejections (EB-289).
    this.rejections = new RejectionTracker(deps.clock, deps.rejectionTracker);
    this.coreTimers = new CoreTimers({
      ...deps,
      index: () => state.appliedIndex,
      enqueue: (evaluation) => evals.enqueue(evaluation),
      periodsMs: deps.corePeriodsMs ?? {},
    });
    this.periodic = new PeriodicDispatcher({ ...deps, tables, writer, nextLaunchMs });
    this.firstRootKey = new FirstRootKey({ ...deps, tables, writer });
    this.keyLoops = [
      new RootKeyRotation({ ...deps, tables, writer }),
      new RootKeyRewrapping({ ...deps, tables, writer }),
      new VariableRekeying({ ...deps, tables, writer }),
    ];
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
    }).applyPlans();
  }

  /** Whether this term raised the housekeeping evaluation. */
  raised(evaluation: Evaluation): boolean {
    return this.coreTimers.raised(evaluation);
  }

  start(): void {
    this.reapers.start();
    this.coreTimers.start();
    this.periodic.start();
    for (const loop of this.keyLoops) loop.start();
    this.variableLocks.start();
  }

  stop(): void {
    this.reapers.stop();
    this.coreTimers.stop();
    this.periodic.stop();
    this.variableLocks.stop();
    this.firstRootKey.stop();
    for (const loop of this.keyLoops) loop.stop();
  }
}
