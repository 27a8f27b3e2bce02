import { Agent } from '@waybill/agent';
import type { Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { tracerFor } from '@waybill/telemetry';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { AgentDisk } from './agent-disk.js';
import { DRIVER, TaskHost } from './task-host.js';
import type { World } from './world.js';

/**
 * One machine of the cluster with the real agent on it.
 *
 * off → on (agent running ⇄ agent dead) → off. The tasks end with the power, the disk stays.
 */
export class Machine {
  readonly node: Node;
  private readonly disk = new AgentDisk();
  private power: SimulatedProcess | undefined;
  private tasks: TaskHost | undefined;
  private process: SimulatedProcess | undefined;
  private agent: Agent | undefined;

  constructor(
    readonly name: string,
    nodeClass: string,
    private readonly world: World,
  ) {
    const id = world.random.fork(`identity of ${name}`).uuid();
    this.node = {
      ...fixtures.aNode({ ID: id, Name: name, NodeClass: nodeClass }),
      Status: 'initializing',
      StatusUpdatedAt: 0,
      ComputedClass: '',
    };
  }

  get isOn(): boolean {
    return this.power !== undefined;
  }

  /** The agent's process, while it is alive. */
  get running(): SimulatedProcess | undefined {
    return this.process;
  }

  get runningTasks(): string[] {
    return this.tasks?.running ?? [];
  }

  /** What the agent has in memory. */
  get stats(): Record<string, number> {
    return this.agent?.stats() ?? {};
  }

  crashTask(taskId: string): void {
    this.tasks?.crash(taskId);
  }

  powerOn(): void {
    if (this.power) return;
    this.power = this.world.spawn(`${this.name}-os`);
    this.tasks = new TaskHost(this.power);
    this.startAgent();
  }

  powerOff(): void {
    this.killAgent();
    this.power?.kill();
    this.power = this.tasks = undefined;
  }

  startAgent(): void {
    const { world, name, disk, node, tasks } = this;
    if (this.process || !tasks) return;
    const process = (this.process = world.spawn(name));
    this.agent = new Agent({
      rpc: world.calls.rpcOf(process),
      clock: process,
      timers: process,
      newId: process.newId,
      random: process.random.next,
      logger: world.logger(name),
      tracer: () => tracerFor('simulation'),
      region: 'global',
      hostEnv: {},
      node: () => node,
      drivers: new Map([[DRIVER, tasks.driverFor(process)]]),
      directories: disk.directories,
      records: disk.recordsFor(process),
      diskUse: async () => ({ diskPercent: 10, inodesPercent: 10 }),
      stopTasksOnExit: false,
    });
    void this.agent.start();
  }

  killAgent(): void {
    this.process?.kill();
    this.process = this.agent = undefined;
  }
}
