import {
  allocsById,
  drainSelf,
  deregisterServices,
  emitNodeEvents,
  heartbeat,
  listPreviousDisk,
  namedServices,
  nodeAllocs,
  readPreviousDisk,
  registerNode,
  registerServices,
  selfDrainState,
  serviceNames,
  signIdentities,
  type Call,
  type Rpc,
  updateAllocs,
} from '@waybill/rpc';
import {
  type AllocClientStatus,
  type Allocation,
  type ClientAllocUpdate,
  isClientTerminal,
  type Node,
  type NodeEvent,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { InvariantError } from '../checks/violation.js';
import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { Machine } from '../world/machine.js';
import type { Faults } from './faults.js';

/** Somebody has the machine for so long, milliseconds. */
const HELD_MS = [2_000, 40_000] as const;
/** Between two lies, milliseconds. */
const PACE_MS = [10, 700] as const;
const FLOOD = 60;
const HUGE_CHARS = 300_000;
const MALFORMED_AT_ONCE = 8;
const JUNK: readonly unknown[] = [
  null,
  5,
  -1,
  1e300,
  0.5,
  true,
  '',
  '__proto__',
  'x\u0000',
  {},
  { ID: 5 },
  [],
  [null],
  [5],
  [{}],
  ['x'],
];
const STATUSES: readonly AllocClientStatus[] = ['pending', 'running', 'complete', 'failed', 'lost', 'unknown'];

/**
 * Of its own. Nobody replaces what a machine says is done (ND-131), so that would leave a job short by the rules; and what it
 * says has ended and runs again is believed (ND-110), on a node that may be full by then.
 */
const OF_OWN: readonly AllocClientStatus[] = ['failed', 'lost', 'unknown'];

/** Stands in every text of a lie, so that a lie is found wherever it gets to. */
export const LIE = 'a lie of ';

/** What a call about somebody else must come to: refused. Of its own allocations a machine may say what it likes (ND-110). */
type Expected = 'refused' | 'anything';

/**
 * Whoever has taken a machine over: it has the machine's ID and secret, knows all IDs of the cluster, and its real agent
 * does nothing meanwhile. Says what is not true until the machine is set up anew.
 */
class Liar {
  private readonly process: SimulatedProcess;
  private readonly rpc: Rpc;
  /** What it said of its own allocations, to be said again later. */
  private readonly said: ClientAllocUpdate[] = [];

  constructor(
    private readonly cluster: Cluster,
    private readonly machine: Machine,
    private readonly random: SeededRandom,
  ) {
    this.process = cluster.world.spawn(`${machine.name}-liar`);
    this.rpc = cluster.world.calls.rpcOf(this.process);
  }

  begin(): void {
    this.process.after(this.random.between(...PACE_MS), () => {
      const lies = this.lies();
      this.random.pick(lies)();
      this.begin();
    });
  }

  end(): void {
    this.process.kill();
  }

  private lies(): readonly (() => void)[] {
    const { own } = this;
    return [
      () => this.reportsOfOthers(this.random.pick(STATUSES)),
      () => this.reportsOfOthers('failed'),
      () => this.underAnotherName(),
      () => this.ownReports(this.random.pick(OF_OWN)),
      () => this.oldReports(),
      () => this.flood(),
      () => this.hugeTexts(),
      () => this.malformed(),
      () => this.readsOfOthers(),
      () => this.servicesOfOthers(),
      () => this.identitiesOfOthers(),
      () => this.ask(heartbeat, { ...own, Status: 'ready' }, 'anything'),
      () => this.ask(drainSelf, { ...this.otherIdentity(), ...this.aDrain() }, 'refused'),
    ];
  }

  private get own(): { readonly NodeID: string; readonly SecretID: string } {
    const { ID, SecretID } = this.machine.node;
    return { NodeID: ID, SecretID };
  }

  /** Another machine, with the secret of this one. */
  private otherIdentity(): { readonly NodeID: string; readonly SecretID: string } {
    return { NodeID: this.otherNode()?.ID ?? 'nobody', SecretID: this.own.SecretID };
  }

  private otherNode(): Node | undefined {
    const others = [...this.cluster.tables.nodes.all()].filter(({ ID }) => ID !== this.own.NodeID);
    return others.length > 0 ? this.random.pick(others) : undefined;
  }

  /**
   * Of its own only those that have not ended: work that was done and is said to have failed is done again with the next
   * evaluation of its job, whenever that comes.
   */
  private allocs(isOwn: boolean): Allocation[] {
    const all = [...this.cluster.tables.allocs.all()].filter((alloc) =>
      isOwn ? alloc.NodeID === this.own.NodeID && !isClientTerminal(alloc) : alloc.NodeID !== this.own.NodeID,
    );
    // The newest first: perhaps whoever is asked does not know of it yet.
    return all.toSorted((a, b) => b.CreateIndex - a.CreateIndex || (a.ID < b.ID ? -1 : 1)).slice(0, 8);
  }

  private report(alloc: Allocation, ClientStatus: AllocClientStatus, over: Partial<ClientAllocUpdate> = {}) {
    const base = fixtures.aClientUpdate(alloc);
    const ClientDescription = `${LIE}${this.own.NodeID}`;
    return { ...base, ID: alloc.ID, NodeID: this.own.NodeID, ClientStatus, ClientDescription, ...over };
  }

  /** Of allocations of other machines, as if they were here. Whoever does not know one yet may take it: it must change nothing. */
  private reportsOfOthers(status: AllocClientStatus): void {
    const Allocs = this.allocs(false).map((alloc) => this.report(alloc, status));
    const one = Allocs.length > 0 ? [this.random.pick(Allocs)] : [];
    if (Allocs.length > 0) this.ask(updateAllocs, { ...this.own, Allocs: one }, 'anything');
    if (Allocs.length > 0) this.ask(updateAllocs, { ...this.own, Allocs }, 'anything');
  }

  /** As another machine, without its secret. */
  private underAnotherName(): void {
    const other = this.otherNode();
    if (!other) return;
    const identity = { NodeID: other.ID, SecretID: this.own.SecretID };
    const theirs = this.allocs(false).filter(({ NodeID }) => NodeID === other.ID);
    const Allocs = theirs.map((alloc) => this.report(alloc, 'failed', { NodeID: other.ID }));
    if (Allocs.length > 0) this.ask(updateAllocs, { ...identity, Allocs }, 'refused');
    this.ask(heartbeat, { ...identity, Status: 'ready' }, 'refused');
    this.ask(emitNodeEvents, { ...identity, Events: [this.anEvent('x')] }, 'refused');
  }

  /** What has not happened. */
  private ownReports(status: AllocClientStatus): void {
    const Allocs = this.allocs(true).map((alloc) => this.report(alloc, status));
    if (Allocs.length === 0) return;
    this.said.push(...Allocs);
    this.ask(updateAllocs, { ...this.own, Allocs }, 'anything');
  }

  private oldReports(): void {
    if (this.said.length === 0) return;
    const Allocs = [this.random.pick(this.said)];
    const After = this.random.below(this.cluster.log.length + 1);
    this.ask(updateAllocs, { ...this.own, Allocs, ...(this.random.chance(0.5) && { After }) }, 'anything');
  }

  private flood(): void {
    for (let n = 0; n < FLOOD; n++) {
      this.ask(heartbeat, { ...this.own, Status: 'ready' }, 'anything');
      this.ask(emitNodeEvents, { ...this.own, Events: [this.anEvent(String(n))] }, 'anything');
    }
    const [alloc] = this.allocs(true);
    if (alloc) for (let n = 0; n < FLOOD; n++) this.ownReports(this.random.pick(OF_OWN));
  }

  private hugeTexts(): void {
    const huge = 'x'.repeat(HUGE_CHARS);
    this.ask(emitNodeEvents, { ...this.own, Events: [this.anEvent(huge)] }, 'anything');
    const [alloc] = this.allocs(true);
    if (!alloc) return;
    const ClientDescription = `${LIE}${this.own.NodeID} ${huge}`;
    this.ask(updateAllocs, { ...this.own, Allocs: [this.report(alloc, 'failed', { ClientDescription })] }, 'anything');
  }

  /** What no agent sends: one member of a question is something else. Nobody falls over it. */
  private malformed(): void {
    for (let n = 0; n < MALFORMED_AT_ONCE; n++) {
      const [call, request] = this.random.pick(this.questions());
      const member = this.random.pick(Object.keys(request));
      this.ask(call, { ...request, [member]: this.random.pick(JUNK) }, 'anything');
    }
    const { node } = this.machine;
    // Not its secret: a node that was purged would be registered with the false one, and the machine be refused for good.
    const member = this.random.pick(Object.keys(node).filter((name) => name !== 'ID' && name !== 'SecretID'));
    this.ask(registerNode, { Node: { ...node, [member]: this.random.pick(JUNK) } as Node }, 'anything');
    const [alloc] = this.allocs(true);
    const junk = this.random.pick(JUNK);
    if (!alloc) return;
    const report = this.report(alloc, 'failed');
    const inReport = this.random.pick(Object.keys(report));
    const Allocs = [{ ...report, [inReport]: junk }] as readonly ClientAllocUpdate[];
    this.ask(updateAllocs, { ...this.own, Allocs }, 'anything');
  }

  /** All that a machine asks, well formed. */
  private questions(): readonly (readonly [call: Call<object, unknown>, request: object])[] {
    const { own } = this;
    const [alloc] = this.allocs(true);
    const AllocID = alloc?.ID ?? 'none';
    const wait = { MinQueryIndex: 0, MaxQueryTimeMs: 10, MinStateIndex: 0 };
    return [
      [heartbeat, { ...own, Status: 'ready' }],
      [updateAllocs, { ...own, Allocs: alloc ? [this.report(alloc, 'failed')] : [], Evals: [], After: 1 }],
      [emitNodeEvents, { ...own, Events: [this.anEvent('odd')] }],
      [registerServices, { ...own, AllocID, Services: [] }],
      [deregisterServices, { ...own, AllocID, IDs: [] }],
      [nodeAllocs, { ...own, ...wait, Listed: 0 }],
      [allocsById, { ...own, AllocIDs: [AllocID], MinStateIndex: 0 }],
      [drainSelf, { ...own, ...this.aDrain() }],
      [selfDrainState, { ...own, MinStateIndex: 0 }],
      [serviceNames, { ...own, AllocID, ...wait }],
      [namedServices, { ...own, AllocID, ServiceName: 'web', ...wait }],
      [signIdentities, { ...own, MinStateIndex: 0, Identities: [] }],
      [listPreviousDisk, { ...own, AllocID, Path: '/', After: '' }],
      [readPreviousDisk, { ...own, AllocID, Path: '/alloc/data/x', Offset: 0 }],
      [registerNode, { Node: this.machine.node, After: 0 }],
    ] as readonly (readonly [Call<object, unknown>, object])[];
  }

  private readsOfOthers(): void {
    const wait = { MinQueryIndex: 0, MaxQueryTimeMs: 10, MinStateIndex: 0 };
    this.ask(nodeAllocs, { ...this.otherIdentity(), ...wait }, 'refused');
    const AllocIDs = this.allocs(false).map(({ ID }) => ID);
    void this.rpc.ask(allocsById, { ...this.own, AllocIDs, MinStateIndex: 0 }).then(
      ({ Allocs }) => {
        if (Allocs.length > 0) this.fail('hostile-machine-reads', `it was given ${Allocs.length} of another machine`);
      },
      () => undefined,
    );
  }

  /** AU-140: nobody but its own machine gets the token of an allocation. */
  private identitiesOfOthers(): void {
    const [alloc] = this.allocs(false);
    const [task] = alloc?.Job?.TaskGroups?.[0]?.Tasks ?? [];
    if (!alloc || !task) return;
    const asked = { AllocID: alloc.ID, WorkloadType: 'task', Workload: task.Name, Identity: 'default' } as const;
    void this.rpc.ask(signIdentities, { ...this.own, MinStateIndex: 0, Identities: [asked] }).then(
      ({ Signed }) => {
        if (Signed.length > 0) this.fail('hostile-machine-tokens', `it was given the token of ${alloc.ID}`);
      },
      () => undefined,
    );
  }

  private servicesOfOthers(): void {
    const [alloc] = this.allocs(false);
    if (!alloc) return;
    const service = { ID: `${LIE}${this.own.NodeID}`, ServiceName: 'web', Tags: [], Address: '10.0.0.1', Port: 80 };
    this.ask(registerServices, { ...this.own, AllocID: alloc.ID, Services: [service] }, 'refused');
  }

  private aDrain() {
    return {
      RequestID: this.process.newId(),
      DrainSpec: { Deadline: -1, IgnoreSystemJobs: false },
      Meta: { why: `${LIE}${this.own.NodeID}` },
    };
  }

  private anEvent(text: string): NodeEvent {
    const Message = `${LIE}${this.own.NodeID} ${text}`;
    return { Message, Subsystem: 'Cluster', Details: null, Timestamp: null, CreateIndex: 0 };
  }

  private ask<Req, Res>(call: Call<Req, Res>, request: Req, expected: Expected): void {
    const { name } = call;
    void this.rpc.ask(call, request).then(
      (answer) => {
        if (expected === 'refused') this.fail('hostile-machine', `${name} was taken: ${JSON.stringify(answer)}`);
      },
      () => undefined, // refused, or not answered
    );
  }

  private fail(invariant: string, details: string): void {
    this.cluster.simulator.fail(new InvariantError(invariant, `${this.machine.name}: ${details}`));
  }
}

/** Machines that somebody has. */
const held = new WeakSet<Machine>();

/** Somebody takes a machine over, and tells lies in its name. */
export const HOSTILE_FAULTS: Faults = {
  'machine lies': [
    4,
    (cluster, random) => {
      const free = cluster.machines.filter((one) => !held.has(one));
      if (free.length === 0) return;
      const machine = random.pick(free);
      held.add(machine);
      machine.powerOff();
      const liar = new Liar(cluster, machine, random.fork('lies'));
      liar.begin();
      cluster.simulator.schedule(random.between(...HELD_MS), `${machine.name} is reinstalled`, () => {
        liar.end();
        // As one does with a machine that somebody else had: what it believed of its allocations is not what it said.
        machine.reinstall();
        held.delete(machine);
      });
    },
  ],
};
