import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DEFAULT_FLEET, type FleetMember, SimulatedFleet } from '@waybill/agent';
import { broker } from '@waybill/broker';
import { deployments } from '@waybill/deployments';
import { type RunningServer, startNats } from '@waybill/embedded';
import type { Allocation, Job, Node, Timers } from '@waybill/model';
import { DEFAULT_PACE, nodesService } from '@waybill/nodes';
import type { Replica } from '@waybill/replica';
import { NatsRpc, type Rpc } from '@waybill/rpc';
import { scheduler } from '@waybill/scheduler';
import {
  Infrastructure,
  newUuid,
  readSettings,
  RunningService,
  type ServiceDefinition,
  systemClock,
  systemTimers,
} from '@waybill/service';
import { draftTxn, fixtures, isRejected, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { eventually } from './wait.js';
import { admittedRpc } from './admitted-rpc.js';

/** Machines that are silent for one to three seconds are missed. */
const PACE = { ...DEFAULT_PACE, minTtlMs: 1_000, graceMs: 1_000, failoverTtlMs: 3_000 };
/** What an agent waits for takes a machine of a test so many times less: a lost server is asked again after a second. */
const HASTE = 20;
const hastyTimers: Timers = { after: (delayMs, run) => systemTimers.after(delayMs / HASTE, run) };
const SERVICES: readonly ServiceDefinition[] = [nodesService(PACE), broker, scheduler, deployments];

/**
 * The services that place and watch work, in this process over a real NATS, and simulated machines with real agents,
 * each with a link that can be cut. There is no Postgres: what is read is a copy of the state.
 */
export class FleetCluster {
  private readonly services = new Map<string, RunningService>();

  private constructor(
    private readonly dir: string,
    private readonly nats: RunningServer,
    private readonly infrastructure: Infrastructure,
    private readonly settings: ReturnType<typeof readSettings>,
    private readonly fleet: SimulatedFleet,
    readonly state: Replica,
    readonly rpc: Rpc,
  ) {}

  static async start(machines: number): Promise<FleetCluster> {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-fleet-'));
    const nats = await startNats({ dir: path.join(dir, 'nats') });
    const settings = readSettings(
      { WAYBILL_NATS_URL: nats.url, WAYBILL_LEASE_TTL_MS: '1000', WAYBILL_LOG_LEVEL: 'silent' },
      [],
    );
    const infrastructure = new Infrastructure({
      processName: 'test',
      settings,
      logger: silentLogger,
      onFatal: (error) => {
        throw error;
      },
    });
    const { link } = await infrastructure.nats();
    const deps = {
      rpc: admittedRpc(new NatsRpc(link.nc)),
      clock: systemClock,
      timers: hastyTimers,
      newId: newUuid,
      random: Math.random,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
      region: 'global',
    };
    const fleet = new SimulatedFleet(deps, { ...DEFAULT_FLEET, nodes: machines });
    const state = await infrastructure.replica();
    const cluster = new FleetCluster(dir, nats, infrastructure, settings, fleet, state, deps.rpc);
    for (const definition of SERVICES) await cluster.startService(definition);
    fleet.start();
    await eventually('all machines are ready', () => cluster.nodes('ready').length === machines);
    return cluster;
  }

  async stop(): Promise<void> {
    await this.fleet.stop();
    for (const service of [...this.services.values()].toReversed()) await service.stop();
    await this.infrastructure.close();
    await this.nats.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Ends a service and starts it anew: what it knew beside the log is gone. */
  async restart(name: string): Promise<void> {
    const service = this.services.get(name);
    if (!service) throw new Error(`${name} does not run`);
    await service.stop();
    await this.startService(service.definition);
  }

  nodes(status: Node['Status']): Node[] {
    return [...this.state.tables.nodes.all()].filter((node) => node.Status === status);
  }

  node({ node }: FleetMember): Node | undefined {
    return this.state.tables.nodes.get(node.ID);
  }

  machineOf(alloc: Allocation): FleetMember {
    const member = this.fleet.members.find(({ node }) => node.ID === alloc.NodeID);
    if (!member) throw new Error(`no machine ${alloc.NodeID}`);
    return member;
  }

  /** Allocations whose tasks really run, on whatever machine. */
  get running(): number {
    return this.fleet.stats().running;
  }

  alloc(id: string): Allocation {
    const alloc = this.state.tables.allocs.get(id);
    if (!alloc) throw new Error(`no allocation ${id}`);
    return alloc;
  }

  allocsOf(jobId: string): Allocation[] {
    return [...this.state.tables.allocs.by('job', `default/${jobId}`)];
  }

  async register(job: Job): Promise<Job> {
    const Eval = fixtures.anEval({ ID: newUuid(), JobID: job.ID, Type: job.Type });
    await this.write('JobRegister', fixtures.aRegistration(job, { Eval }));
    return eventually(`job ${job.ID}`, () => this.state.tables.jobs.get(`default/${job.ID}`));
  }

  async write<T extends TxnType>(type: T, payload: TxnPayloads[T]): Promise<void> {
    const context = { timeNs: systemClock.nowMs() * 1e6, requestId: newUuid(), actor: serviceActor('test') };
    const { verdict } = await this.state.propose(draftTxn(type, payload, { ...context, namespace: 'default' }));
    if (isRejected(verdict)) throw new Error(`${type}: ${verdict.error}`);
  }

  private async startService(definition: ServiceDefinition): Promise<void> {
    this.services.set(definition.name, await RunningService.start(definition, this.settings, this.infrastructure));
  }
}
