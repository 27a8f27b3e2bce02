import { termOf } from '@waybill/roles';
import {
  type AllocClientStatus,
  CLAIM_MODE,
  FakeTime,
  nsFromMs,
  type CSIVolume,
  type CSIVolumeRegistration,
  type Node,
  type RefusalCode,
} from '@waybill/model';
import { LocalState } from '@waybill/replica';
import {
  NO_RESPONDER,
  RpcError,
  RpcUnavailableError,
  type AskOptions,
  type Call,
  type CallFence,
  type Rpc,
} from '@waybill/rpc';
import { draftTxn, fixtures, serviceActor, type Applied, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { VolumesHolder, type VolumesTerm } from '../volumes-holder.js';

const { aCSIClaim, aControllerPlugin, aGroup, aJob, aNode, aNodePlugin, anAlloc, anEval, aPlanResult, aRegistration } =
  fixtures;
const { aVolumeRegistration, aVolumeRequest } = fixtures;

/** One call to a machine. */
export interface Asked {
  readonly name: string;
  readonly nodeId: string | undefined;
  readonly fence: CallFence | undefined;
  readonly request: Readonly<Record<string, unknown>>;
}

/** Machines with plugins, as the servers reach them: what they were asked, and what they answer. */
export class PluginMachines implements Rpc {
  readonly asked: Asked[] = [];
  /** By name of the call: answers instead of an empty success. */
  readonly answers = new Map<string, (asked: Asked) => unknown>();

  async ask<Req, Res>({ name }: Call<Req, Res>, request: Req, { target, authority }: AskOptions = {}): Promise<Res> {
    const fence = authority && 'fence' in authority ? authority.fence : undefined;
    const asked = { name, nodeId: target, fence, request: request as Readonly<Record<string, unknown>> };
    this.asked.push(asked);
    const answer: unknown = await Promise.resolve(this.answers.get(name)?.(asked));
    return (answer ?? {}) as Res;
  }

  /** Names of the calls made, without their common beginning. */
  get calls(): string[] {
    return this.asked.map(({ name }) => name.replace('agent.csi', ''));
  }

  unreachable(name: string): void {
    this.answers.set(name, () => {
      throw new RpcUnavailableError(name, NO_RESPONDER);
    });
  }

  refusing(name: string, message: string, code: RefusalCode = 'internal'): void {
    this.answers.set(name, () => {
      throw new RpcError(code, message);
    });
  }
}

/** The volumes service over a local log, machines that are a table of answers, and a clock that passes when told to. */
export class VolumesCluster {
  readonly time = new FakeTime();
  readonly state = new LocalState();
  readonly machines = new PluginMachines();
  readonly holder: VolumesHolder;
  private ids = 0;
  private held = false;
  private lease: 'lasts' | 'over' = 'lasts';

  constructor() {
    this.holder = new VolumesHolder({
      state: this.state,
      rpc: this.machines,
      clock: this.time,
      timers: this.time,
      newId: () => fixtures.uuid(0x70_0000 + ++this.ids),
      logger: silentLogger,
      tracer: () => tracerFor('test'),
      region: 'global',
    });
    this.state.onApplied((applied) => this.held && this.holder.applied(applied));
    this.write('Initialise', {});
  }

  get term(): VolumesTerm {
    return this.holder.term;
  }

  /** Applied before it returns. */
  write<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace = 'default'): Applied {
    const context = {
      timeNs: nsFromMs(this.time.nowMs()),
      requestId: `test-${++this.ids}`,
      actor: serviceActor('test'),
    };
    void this.state.propose(draftTxn(type, payload, { ...context, namespace }));
    const applied = this.state.history.at(-1);
    if (!applied) throw new Error('nothing was applied');
    if (applied.verdict.kind === 'refused') throw new Error(applied.verdict.error);
    return applied;
  }

  lead(): void {
    const epoch = this.state.machine.epochOf('volumes') + 1;
    this.write('LeaseAcquired', { Role: 'volumes', Epoch: epoch, Holder: 'test' });
    const isCurrent = (): boolean =>
      this.held && this.lease === 'lasts' && this.state.machine.epochOf('volumes') === epoch;
    this.held = true;
    this.lease = 'lasts';
    this.holder.start(termOf('volumes', epoch, { holder: 'test', isCurrent }));
  }

  /** The process stands still for longer than its lease: it knows by its clock alone. */
  oversleep(): void {
    this.lease = 'over';
  }

  follow(): void {
    this.held = false;
    this.holder.stop();
  }

  /** A machine with node plugin `disks`, and its controller if wanted. */
  machine(id: string, { controller = false, over = {} }: { controller?: boolean; over?: Partial<Node> } = {}): Node {
    const node = aNode({
      ID: id,
      SecretID: `secret-of-${id}`,
      Status: 'ready',
      CSINodePlugins: { disks: nodePlugin(id) },
      ...(controller && { CSIControllerPlugins: { disks: { ...aControllerPlugin(), AllocID: `plugin-on-${id}` } } }),
      ...over,
    });
    this.write('NodeRegister', { Node: node, CreateNodePool: false });
    return node;
  }

  volume(over: Partial<CSIVolumeRegistration> = {}): void {
    this.write('CSIVolumeRegister', { Volumes: [aVolumeRegistration(over)] });
  }

  /** An allocation that runs there, with a claim taken. */
  claimed(
    allocId: string,
    nodeId: string,
    { volume = 'data', read = false, externalId = '', accessMode = 'single-node-writer' } = {},
  ): void {
    this.alloc(allocId, nodeId);
    const claim = aCSIClaim({
      AllocationID: allocId,
      NodeID: nodeId,
      ExternalNodeID: externalId,
      Mode: read ? CLAIM_MODE.read : CLAIM_MODE.write,
      AccessMode: accessMode,
    });
    this.write('CSIVolumeClaim', { VolumeID: volume, Claim: claim });
  }

  alloc(allocId: string, nodeId: string): void {
    if (!this.state.tables.jobs.has('default/web')) {
      const group = aGroup({ Volumes: { data: aVolumeRequest() } });
      this.write(
        'JobRegister',
        aRegistration(aJob({ ID: 'web', TaskGroups: [group] }), { Eval: anEval({ ID: 'placing' }) }),
      );
    }
    const Job = this.state.tables.jobs.get('default/web') ?? null;
    const placed = anAlloc({ ID: allocId, NodeID: nodeId, Job });
    this.write('ApplyPlanResults', aPlanResult({ Job, EvalID: 'placing', AllocsUpdated: [placed] }));
    this.status(allocId, 'running');
  }

  /** What its agent says of an allocation. */
  status(allocId: string, ClientStatus: AllocClientStatus): void {
    const alloc = this.state.tables.allocs.get(allocId);
    if (!alloc) throw new Error(`no allocation ${allocId}`);
    this.write('AllocClientUpdate', { Allocs: [fixtures.aClientUpdate(alloc, { ClientStatus })], Evals: [] });
  }

  /** The servers give it up with its machine. */
  lost(allocId: string): void {
    const stop = { ID: allocId, DesiredDescription: 'lost', ClientStatus: 'lost', FollowupEvalID: '' } as const;
    const Job = this.state.tables.jobs.get('default/web') ?? null;
    this.write('ApplyPlanResults', aPlanResult({ Job, EvalID: 'placing', AllocsStopped: [stop] }));
  }

  stored(id = 'data'): CSIVolume {
    const volume = this.state.tables.csi_volumes.get(`default/${id}`);
    if (!volume) throw new Error(`no volume ${id}`);
    return volume;
  }

  /** Claim writes of the service so far. */
  get claimWrites(): number {
    return this.state.history.filter(({ txn }) => txn.type === 'CSIVolumeClaim' && txn.fence?.role === 'volumes')
      .length;
  }
}

const nodePlugin = (nodeId: string) => {
  const plugin = aNodePlugin();
  if (!plugin.NodeInfo) throw new Error('the fixture has no node info');
  return { ...plugin, NodeInfo: { ...plugin.NodeInfo, ID: `external-${nodeId}` } };
};
