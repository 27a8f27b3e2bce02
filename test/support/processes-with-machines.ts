import { DEFAULT_FLEET, type FleetMember, type FleetOptions, SimulatedFleet } from '@waybill/agent';
import type { Allocation, Timers } from '@waybill/model';
import type { Replica } from '@waybill/replica';
import { NatsRpc, onNodesChanged, type Rpc } from '@waybill/rpc';
import { Infrastructure, newUuid, readSettings, systemClock, systemTimers } from '@waybill/service';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { eventually } from './wait.js';
import { CONTROL_PLANE, WaybillProcesses } from './waybill-processes.js';
import { admittedRpc } from './admitted-rpc.js';

/** What an agent waits for takes a machine of a test so many times less; what the servers wait for takes its time. */
const HASTE = 10;
const hastyTimers: Timers = { after: (delayMs, run) => systemTimers.after(delayMs / HASTE, run) };

/**
 * The services of nodes in a process of their own, all others in one, and simulated machines with real agents in this one, each with a link that can be
 * cut. What is asked goes over HTTP; what happened is read from a copy of the state that follows the log.
 */
export class ProcessesWithMachines {
  private readonly fleets: SimulatedFleet[] = [];

  private constructor(
    readonly waybill: WaybillProcesses,
    private readonly infrastructure: Infrastructure,
    readonly state: Replica,
    private readonly rpc: Rpc,
  ) {}

  static async start(): Promise<ProcessesWithMachines> {
    const waybill = await WaybillProcesses.startTogether({}, CONTROL_PLANE, ['nodes']);
    const settings = readSettings({ WAYBILL_NATS_URL: waybill.stack.natsUrl, WAYBILL_LOG_LEVEL: 'silent' }, []);
    const infrastructure = new Infrastructure({
      processName: 'test',
      settings,
      logger: silentLogger,
      onFatal: (error) => {
        throw error;
      },
    });
    const { link } = await infrastructure.nats();
    const cluster = new ProcessesWithMachines(
      waybill,
      infrastructure,
      await infrastructure.replica(),
      admittedRpc(new NatsRpc(link.nc)),
    );
    onNodesChanged(link, () => cluster.fleets.forEach((fleet) => fleet.serversChanged()));
    return cluster;
  }

  async stop(): Promise<void> {
    for (const fleet of this.fleets) await fleet.stop();
    await this.infrastructure.close();
    await this.waybill.stop();
  }

  /** Adds machines and waits until they are ready. */
  async addMachines(nodes: number, options: Partial<FleetOptions> = {}): Promise<readonly FleetMember[]> {
    const seed = `machines-${this.fleets.length}`;
    const deps = {
      rpc: this.rpc,
      clock: systemClock,
      timers: hastyTimers,
      newId: newUuid,
      random: Math.random,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
      region: 'global',
    };
    const fleet = new SimulatedFleet(deps, { ...DEFAULT_FLEET, seed, namePrefix: seed, ...options, nodes });
    this.fleets.push(fleet);
    fleet.start();
    const isReady = ({ node }: FleetMember) => this.state.tables.nodes.get(node.ID)?.Status === 'ready';
    await eventually('the machines are ready', () => fleet.members.length === nodes && fleet.members.every(isReady));
    return fleet.members;
  }

  allocsOf(jobId: string): Allocation[] {
    return [...this.state.tables.allocs.by('job', `default/${jobId}`)];
  }

  /** What is to run and does. */
  running(jobId: string): Allocation[] {
    return this.allocsOf(jobId).filter((a) => a.DesiredStatus === 'run' && a.ClientStatus === 'running');
  }

  /** Allocations whose tasks really run, whatever the servers believe. */
  get tasksRunning(): number {
    return this.fleets.reduce((sum, fleet) => sum + fleet.stats().running, 0);
  }

  /** @throws with what the API says */
  async put(path: string, body: unknown): Promise<void> {
    const answer = await this.waybill.api.raw(path, { method: 'PUT', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`PUT ${path}: ${answer.status} ${await answer.text()}`);
  }
}
