import { Agent, HealthWatch, LeftMounts } from '@waybill/agent';
import { AclCache, type PolicySource } from '@waybill/acl';
import {
  AwaitedReads,
  Callers,
  CallerWatch,
  CurrentJobs,
  type JobReads,
  RecentReads,
  RequestAccess,
  ResponseCache,
  Variables,
  Writer,
} from '@waybill/api';
import {
  BlockedEvals,
  Broker,
  type Dequeued,
  EvalBroker,
  RootKeyRotation,
  VariableLocks,
  VariableRekeying,
} from '@waybill/broker';
import { DeploymentWatchers, DroppedRegions, RegionRollout } from '@waybill/deployments';
import {
  CLAIM_STATE,
  type Clock,
  emptyLoad,
  type Evaluation,
  NS_PER_SECOND,
  type Variable,
  type VariableLock,
  WitnessedClock,
} from '@waybill/model';
import { LogHistory } from '@waybill/journal';
import { AllocQueries, PreviousDisks } from '@waybill/nodes';
import { ProjectionFeed, SharedTexts } from '@waybill/projection';
import { type ProjectionStore, Projector } from '@waybill/projector';
import type { AllocsByIdRequest } from '@waybill/rpc';
import {
  type Applied,
  namespacedKey,
  NodeLoads,
  StateMachine,
  type Tables,
  type Txn,
  type VariableChange,
  type Write,
} from '@waybill/state';
import { VolumeWatcher } from '@waybill/volumes';
import type { ReplicatedState } from '@waybill/replica';
import { replaceMethod, replaceTxn } from './replaced-method.js';

/** A bug that somebody could write any day, switched on for a run. */
export interface Mutation {
  readonly name: string;
  /** Tried first: it caught the mutation when this was written. */
  readonly seed: number;
  /** Of all runs; absent: as many as each seed has. */
  readonly regions?: 1 | 2;
  /** In runs with access control. */
  readonly access?: true;
  /** In runs with a keyring. */
  readonly keys?: true;
  /** @returns the way back */
  readonly apply: () => () => void;
}

/** The parts of a projector that the mutation of its order needs. */
interface ProjectorSteps {
  readonly options: { readonly store: ProjectionStore };
}

/** The parts of an evaluation broker that mutations reach into. */
interface BrokerSteps {
  makeReady(tracked: unknown): void;
}

/** The parts of a watch over health that the mutation of its deadline needs. */
interface HealthLooks {
  readonly clock: Clock;
}

/** The part of a clock that the mutation of its doubt reads. */
interface ClockSources {
  readonly sources: { readonly wall: Clock };
}

/** The parts of a rollout over regions that the mutation of its pauses needs. */
interface RolloutLooks {
  mode: string;
  readonly hasNews: boolean;
  requestPoll(): void;
}

/** What answers to machines look into. */
interface StateReader {
  readonly state: Pick<ReplicatedState, 'tables'>;
}

/** The part of the search for callers that the mutation of expiry changes. */
interface CallerLooks {
  readonly options: object;
}

/** The parts of a keeper of the times of locks that the mutation of its terms needs. */
interface LockTimes {
  readonly deps: { readonly tables: Pick<Tables, 'variables'> };
  running: boolean;
  track(row: Variable): void;
}

/** The part of a rotation that the mutation of its clock changes. */
interface RotationSteps {
  readonly deps: { readonly clock: Clock };
}

/** Of a caller, on which rows their rights depend. */
interface RightsOfCaller {
  readonly grants: { readonly roles: readonly unknown[] } | undefined;
}

const MONTH_MS = 30 * 24 * 3_600_000;

const rulesByName = new WeakMap<object, Map<string, PolicySource>>();

/** The policies of these names, as a cache has seen them first. */
function keptRules(cache: object, policies: readonly PolicySource[]): readonly PolicySource[] {
  const known = rulesByName.get(cache) ?? new Map<string, PolicySource>();
  rulesByName.set(cache, known);
  return policies.map((policy) => {
    const kept = known.get(policy.name) ?? policy;
    known.set(policy.name, kept);
    return kept;
  });
}

/** Each is caught within 200 seeds: mutations.test.ts. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'epoch check dropped',
    seed: 220,
    apply: () => replaceMethod(StateMachine, 'voidByEpoch', () => () => undefined),
  },
  {
    name: 'a log that lost its end is written to',
    seed: 9,
    apply: () => replaceMethod(LogHistory, 'gate', () => () => undefined),
  },
  {
    name: 'frames that EVENTS lost are not made again',
    seed: 1,
    apply: () => replaceMethod(Projector, 'remakeFrames', () => async () => {}),
  },
  {
    name: 'plan applied without verification',
    seed: 3,
    apply: () => replaceMethod(NodeLoads, 'of', () => () => emptyLoad()),
  },
  {
    name: 'delayed evaluations lost with the term',
    seed: 11,
    apply: () =>
      replaceMethod(
        EvalBroker,
        'restore',
        (original) =>
          function (this: never, evaluations: Iterable<Evaluation>) {
            const due = [...evaluations].filter(({ WaitUntil }) => WaitUntil === null);
            return Reflect.apply(original, this, [due]);
          },
      ),
  },
  {
    name: 'evaluations lost with the term',
    seed: 2,
    apply: () => replaceMethod(EvalBroker, 'restore', () => () => undefined),
  },
  {
    name: 'a nack forgets the evaluation',
    seed: 5,
    apply: () => replaceMethod(EvalBroker, 'redeliverLater', () => () => undefined),
  },
  {
    name: 'two evaluations of a job at once',
    seed: 3,
    apply: () =>
      replaceMethod(
        EvalBroker,
        'queueForJob',
        () =>
          function (this: BrokerSteps, tracked: unknown) {
            this.makeReady(tracked);
          } as never,
      ),
  },
  {
    name: 'freed capacity wakes nobody',
    seed: 4,
    apply: () => replaceMethod(BlockedEvals, 'release', () => () => undefined),
  },
  {
    name: 'projector commits before publishing',
    seed: 1,
    apply: () =>
      replaceMethod(
        Projector,
        'write',
        (original) =>
          async function (this: ProjectorSteps, batch: readonly Applied[], ...rest: unknown[]) {
            await this.options.store.write(batch, new SharedTexts(), 0);
            await Reflect.apply(original, this, [batch, ...rest]);
          } as never,
      ),
  },
  {
    name: 'write answered before it can be read',
    seed: 1,
    apply: () => replaceMethod(Writer, 'readable', () => async () => ({ kind: 'accepted' })),
  },
  {
    name: 'report taken although a later one was',
    seed: 26,
    apply: () =>
      replaceTxn((txn) =>
        txn.type === 'AllocClientUpdate' ? { ...txn, payload: { ...txn.payload, After: {} } } : txn,
      ),
  },
  {
    name: 'deployments that begin within a term are not watched',
    seed: 1,
    apply: () => replaceMethod(DeploymentWatchers, 'applied', () => () => undefined),
  },
  {
    name: 'claims that have ended are not freed by the servers',
    seed: 20,
    apply: () => replaceMethod(VolumeWatcher, 'wake', () => () => undefined),
  },
  {
    name: 'claim freed before its disk is given back',
    seed: 6,
    // Neither the servers nor the machine that has it mounted mind.
    apply: () => {
      const onMachine = replaceMethod(LeftMounts, 'clear', () => () => Promise.resolve());
      const onServers = replaceTxn((txn) => {
        if (txn.type !== 'CSIVolumeClaim' || txn.payload.Claim.State !== CLAIM_STATE.unpublishing) return txn;
        const Claim = { ...txn.payload.Claim, State: CLAIM_STATE.readyToFree };
        return { ...txn, payload: { ...txn.payload, Claim } };
      });
      return () => [onMachine, onServers].forEach((undo) => undo());
    },
  },
  {
    name: 'claim freed twice, the second time that of another',
    seed: 4,
    apply: () =>
      replaceTxn((txn, tables) => {
        if (txn.type !== 'CSIVolumeClaim' || txn.payload.Claim.State !== CLAIM_STATE.readyToFree) return txn;
        const { VolumeID, Claim } = txn.payload;
        const claims = tables.csi_volumes.get(namespacedKey(txn.namespace, VolumeID))?.WriteClaims ?? {};
        const [other = Claim.AllocationID] = Object.keys(claims);
        const AllocationID = Object.hasOwn(claims, Claim.AllocationID) ? Claim.AllocationID : other;
        return { ...txn, payload: { VolumeID, Claim: { ...Claim, AllocationID } } };
      }),
  },
  {
    name: 'a disk is moved before its tasks have ended',
    seed: 26,
    regions: 1,
    // Neither the servers nor the machine that has it mind.
    apply: () => {
      const onMachine = replaceMethod(Agent, 'isLive', () => () => false);
      const onServers = replaceMethod(
        PreviousDisks,
        'wanted',
        (original) =>
          function (this: StateReader, request: unknown) {
            const { tables } = this.state;
            const ended = (id: string) => {
              const alloc = tables.allocs.get(id);
              return alloc && { ...alloc, ClientStatus: 'complete' };
            };
            const reader = { state: { tables: { ...tables, allocs: { get: ended } } } };
            return Reflect.apply(original, reader as never, [request as never]);
          } as never,
      );
      return () => [onMachine, onServers].forEach((undo) => undo());
    },
  },
  {
    name: 'health is looked at by the clock alone',
    seed: 9,
    apply: () =>
      replaceMethod(
        HealthWatch,
        'evaluateAt',
        (original) =>
          function (this: HealthLooks) {
            return Reflect.apply(original, this as never, [this.clock.nowMs() as never]);
          } as never,
      ),
  },
  {
    name: 'a wall clock that was set is believed',
    seed: 1364,
    apply: () =>
      replaceMethod(
        WitnessedClock,
        'nowMs',
        () =>
          function (this: ClockSources) {
            return this.sources.wall.nowMs();
          } as never,
      ),
  },
  {
    name: 'regions look at each other only when they hear something',
    seed: 11,
    regions: 2,
    apply: () =>
      replaceMethod(
        RegionRollout,
        'scheduleNextPoll',
        () =>
          function (this: RolloutLooks) {
            if (this.mode !== 'stopped') this.mode = 'resting';
            if (this.mode === 'resting' && this.hasNews) this.requestPoll();
          } as never,
      ),
  },
  {
    name: 'a region that a job has left is asked once',
    seed: 3,
    regions: 2,
    apply: () =>
      replaceMethod(
        DroppedRegions,
        'checkDeparture',
        () =>
          async function (
            this: { stopDepartedJob(departure: unknown): Promise<void> },
            _key: string,
            departure: unknown,
          ) {
            await this.stopDepartedJob(departure).catch(() => undefined);
          } as never,
      ),
  },
  {
    name: 'a job is stopped by what can be read of it',
    seed: 23,
    regions: 2,
    apply: () =>
      replaceMethod(
        CurrentJobs,
        'job',
        () =>
          async function (this: { readonly reads: JobReads }, namespace: string, id: string) {
            return { row: await this.reads.job(namespace, id), sequence: 0 };
          } as never,
      ),
  },
  {
    name: 'a scheduler believes its copy of a log that has lost its end',
    seed: 5,
    apply: () =>
      replaceMethod(
        Broker,
        'traced',
        (original) =>
          async function (this: never, ...args: never[]) {
            return { ...((await original.apply(this, args)) as Dequeued), lease: undefined };
          },
      ),
  },
  {
    name: 'the next evaluation of a job waits for ever',
    seed: 1,
    apply: () => replaceMethod(EvalBroker, 'releaseJob', () => () => undefined),
  },
  {
    name: 'a machine is told of the allocations of others',
    seed: 10,
    apply: () =>
      replaceMethod(
        AllocQueries,
        'allocsById',
        () =>
          async function (this: StateReader, { AllocIDs }: AllocsByIdRequest) {
            const { tables } = this.state;
            const Allocs = AllocIDs.flatMap((id) => tables.allocs.get(id) ?? []);
            return { Allocs, Index: tables.allocs.tableIndex, Traceparents: {} };
          } as never,
      ),
  },
  {
    name: 'each copy of the state has a clock of its own',
    seed: 1,
    apply: () => {
      const clocks = new WeakMap<StateMachine, number>();
      let copies = 0;
      return replaceMethod(
        StateMachine,
        'runApplier',
        (original) =>
          function (this: StateMachine, write: Write, txn: Txn) {
            const offsetNs = clocks.get(this) ?? ++copies * NS_PER_SECOND;
            clocks.set(this, offsetNs);
            return Reflect.apply(original, this as never, [
              Object.assign(write, { timeNs: txn.timeNs + offsetNs }),
              txn,
            ]);
          } as never,
      );
    },
  },
  {
    name: 'a checked write of a variable is not checked',
    seed: 18,
    apply: () =>
      replaceMethod(
        Variables,
        'apply',
        (original) =>
          function (this: never, author: unknown, owner: unknown, change: VariableChange) {
            const unchecked = change.Op === 'cas' ? { ...change, Op: 'set' } : change;
            return Reflect.apply(original, this, [author, owner, unchecked] as never);
          } as never,
      ),
  },
  {
    name: 'locks of variables are forgotten with the term',
    seed: 24,
    apply: () =>
      replaceMethod(
        VariableLocks,
        'start',
        () =>
          function (this: { running: boolean }) {
            this.running = true;
          } as never,
      ),
  },
  {
    name: 'a lock ends before its time',
    seed: 3,
    apply: () =>
      replaceMethod(
        VariableLocks,
        'startTimer',
        (original) =>
          function (this: never, row: Variable, lock: VariableLock, held: unknown) {
            return Reflect.apply(original, this, [row, { ...lock, TTL: lock.TTL / 10, LockDelay: 0 }, held] as never);
          } as never,
      ),
  },
  {
    name: 'the delay of a lock is forgotten',
    seed: 12,
    keys: true,
    apply: () =>
      replaceMethod(
        VariableLocks,
        'startTimer',
        (original) =>
          function (this: never, row: Variable, lock: VariableLock, held: unknown) {
            return Reflect.apply(original, this, [row, { ...lock, LockDelay: 0 }, held] as never);
          } as never,
      ),
  },
  {
    name: 'a new holder gives locks what it thinks is left of their time',
    seed: 9,
    keys: true,
    apply: () =>
      replaceMethod(
        VariableLocks,
        'start',
        () =>
          function (this: LockTimes) {
            this.running = true;
            for (const row of this.deps.tables.variables.all())
              if (row.Lock) this.track({ ...row, Lock: { ...row.Lock, TTL: row.Lock.TTL / 4 } });
          } as never,
      ),
  },
  {
    name: 'a write with the ID of an ended lock counts',
    seed: 12,
    keys: true,
    apply: () =>
      replaceTxn((txn, tables) => {
        if (txn.type !== 'VarApplyState' || txn.payload.Op !== 'set' || txn.payload.LockID === '') return txn;
        const row = tables.variables.get(namespacedKey(txn.namespace, txn.payload.Path));
        return { ...txn, payload: { ...txn.payload, LockID: row?.Lock?.ID ?? '' } };
      }),
  },
  {
    name: 'a write notes its items as its reason',
    seed: 12,
    keys: true,
    apply: () =>
      replaceMethod(
        Variables,
        'applySealed',
        (original) =>
          function (this: never, author: object, owner: unknown, wanted: object) {
            const reason = 'items' in wanted ? JSON.stringify(wanted.items) : '';
            return Reflect.apply(original, this, [{ ...author, reason }, owner, wanted] as never);
          } as never,
      ),
  },
  {
    name: 'a root key is removed while it is used',
    seed: 12,
    keys: true,
    apply: () =>
      replaceTxn((txn) => (txn.type === 'RootKeyDelete' ? { ...txn, payload: { ...txn.payload, Force: true } } : txn)),
  },
  {
    name: 'a published root key is used at the next check',
    seed: 9,
    keys: true,
    apply: () =>
      replaceMethod(
        RootKeyRotation,
        'runPass',
        (original) =>
          function (this: RotationSteps) {
            const { clock } = this.deps;
            const ahead = { ...this.deps, clock: { nowMs: () => clock.nowMs() + MONTH_MS } };
            return Reflect.apply(original, Object.create(this, { deps: { value: ahead } }) as never, []);
          } as never,
      ),
  },
  {
    name: 'the former keys of a full rotation never rest',
    seed: 12,
    keys: true,
    apply: () => replaceMethod(VariableRekeying, 'retire', () => async () => {}),
  },
  {
    name: 'variables are encrypted anew over newer writes',
    seed: 12,
    keys: true,
    apply: () =>
      replaceTxn((txn, tables) => {
        if (txn.type !== 'VarApplyState' || !txn.fence || txn.payload.Op !== 'cas') return txn;
        const row = tables.variables.get(namespacedKey(txn.namespace, txn.payload.Path));
        const payload = { ...txn.payload, CheckIndex: row?.ModifyIndex ?? 0, LockID: row?.Lock?.ID ?? '' };
        return { ...txn, payload };
      }),
  },
  {
    name: 'blocking reads of variables wake for nothing',
    seed: 12,
    keys: true,
    apply: () =>
      replaceMethod(
        ProjectionFeed,
        'receive',
        (original) =>
          function (this: never, announcement: Parameters<ProjectionFeed['receive']>[0]) {
            const entries = announcement.entries.map((entry) => {
              return { ...entry, keys: entry.keys.filter(([table]) => table !== 'variables') };
            });
            return Reflect.apply(original, this, [{ ...announcement, entries } as never]);
          } as never,
      ),
  },
  {
    name: 'an API knows the root keys that it has read first',
    seed: 1,
    keys: true,
    apply: () =>
      replaceMethod(
        AwaitedReads,
        'of',
        (original) =>
          function (this: never, ...[keys, read]: unknown[]) {
            return Reflect.apply(original, this, [keys, read] as never);
          } as never,
      ),
  },
  {
    name: 'a list of all namespaces shows all of them',
    seed: 1,
    access: true,
    apply: () =>
      replaceMethod(
        RequestAccess,
        'namespacesFor',
        (original) =>
          async function (this: never, needed: never, wanted: unknown) {
            const allowed: unknown = await Reflect.apply(original, this, [needed, wanted as never]);
            return wanted === '*' ? wanted : allowed;
          } as never,
      ),
  },
  {
    name: 'compiled rules are kept after their policy has changed',
    seed: 1,
    access: true,
    apply: () =>
      replaceMethod(
        AclCache,
        'get',
        (original) =>
          function (this: never, policies: readonly PolicySource[]) {
            return Reflect.apply(original, this, [keptRules(this, policies)] as never);
          } as never,
      ),
  },
  {
    name: 'callers are remembered after their rights have changed',
    seed: 1,
    access: true,
    apply: () => replaceMethod(RecentReads, 'clearValues', () => () => undefined),
  },
  {
    name: 'an expired token is still good',
    seed: 1,
    access: true,
    apply: () =>
      replaceMethod(
        Callers,
        'of',
        (original) =>
          function (this: CallerLooks, credential: string) {
            const timeless = { options: { ...this.options, clock: { nowMs: () => 0 } } };
            return Reflect.apply(original, Object.assign(Object.create(this), timeless) as never, [
              credential as never,
            ]);
          } as never,
      ),
  },
  {
    name: 'a stream is not checked again',
    seed: 1,
    access: true,
    apply: () => replaceMethod(Callers, 'onChangeOf', () => (() => () => {}) as never),
  },
  {
    name: 'a stream is not checked again when a role loses a policy',
    seed: 2,
    access: true,
    apply: () =>
      replaceMethod(
        Callers,
        'onChangeOf',
        (original) =>
          function (this: never, caller: RightsOfCaller, listener: unknown) {
            const withoutRoles = { ...caller, grants: caller.grants && { ...caller.grants, roles: [] } };
            return Reflect.apply(original, this, [withoutRoles, listener] as never);
          } as never,
      ),
  },
  {
    name: 'a stream goes on after its token has expired',
    seed: 8,
    access: true,
    apply: () => replaceMethod(CallerWatch, 'leftMs', () => () => Infinity),
  },
  {
    name: 'an object is checked in the namespace of the request',
    seed: 1,
    access: true,
    apply: () =>
      replaceMethod(
        RequestAccess,
        'visible',
        () =>
          function (this: { inNamespace(namespace: string): string; queried: string }, row: unknown) {
            this.inNamespace(this.queried);
            return row;
          } as never,
      ),
  },
  {
    name: 'a cached list is shown to readers of other namespaces',
    seed: 23,
    access: true,
    apply: () =>
      replaceMethod(
        ResponseCache,
        'getOrQuery',
        (original) =>
          function (this: never, key: string, ...rest: never[]) {
            const [path, , ...names] = JSON.parse(key) as unknown[];
            return Reflect.apply(original, this, [JSON.stringify([path, ...names]) as never, ...rest]);
          } as never,
      ),
  },
];
