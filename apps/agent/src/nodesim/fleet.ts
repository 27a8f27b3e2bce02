import type { CancelTimer, Node, Timers } from '@waybill/model';
import { Agent } from '../agent.js';
import type { AgentRuntime } from '../agent-runtime.js';
import type { Driver } from '../drivers/driver.js';
import { noDirectories, noRecords } from './allocations-in-memory.js';
import type { FleetOptions } from './fleet-options.js';
import { simulatedMachine } from './simulated-machine.js';
import { noCounts, UnsteadyLink } from './unsteady-link.js';
import { UnsteadyDriver } from './unsteady-driver.js';

/** FleetMember is one simulated machine. */
export interface FleetMember {
  readonly node: Node;
  readonly agent: Agent;
  readonly link: UnsteadyLink;
}

export interface FleetStats {
  readonly started: number;
  readonly registered: number;
  readonly cutOff: number;
  readonly allocations: number;
  readonly running: number;
  /** The number of requests since the start, in total and by outcome. */
  readonly asked: number;
  readonly answered: number;
  readonly refused: number;
  readonly unanswered: number;
}

const MINUTE_MS = 60_000;
/** The interval in milliseconds between two groups of machines that start. */
const START_TICK_MS = 100;

/**
 * SimulatedFleet runs many machines in one process. Each is the agent of a real machine with the mock driver, no files,
 * and a link that may be slow, lossy or cut.
 *
 * States: new → starting (one machine after the other, at a pace) → running → stopped. Machines of a stopped fleet fall
 * silent, as if their power had failed, and the servers notice the missing heartbeats. Every timer of the fleet ends
 * with it. Cost of an idle machine: one heartbeat per TTL, and one read that waits at the servers.
 */
export class SimulatedFleet {
  readonly members: FleetMember[] = [];
  private readonly counts = noCounts();
  private readonly timers: EndingTimers;

  constructor(
    private readonly deps: AgentRuntime,
    private readonly options: FleetOptions,
  ) {
    this.timers = new EndingTimers(deps.timers);
  }

  start(): void {
    this.startNext();
    const { cutsPerMinute, outageNodes, outageAfterSeconds } = this.options;
    if (cutsPerMinute > 0) this.cutRegularly(MINUTE_MS / cutsPerMinute);
    if (outageNodes > 0)
      this.timers.after(outageAfterSeconds * 1_000, () => {
        for (const member of this.connectedMachines().slice(0, outageNodes)) this.cutOffMachine(member);
      });
  }

  async stop(): Promise<void> {
    this.timers.end();
    await Promise.all(this.members.map(({ agent }) => agent.stop()));
    this.timers.end();
  }

  /** Passes the news that the servers have changed to every machine whose link is whole. */
  serversChanged(): void {
    for (const { agent, link } of this.members) if (!link.isCut) agent.serversChanged();
  }

  stats(): FleetStats {
    let [registered, cutOff, allocations, running] = [0, 0, 0, 0];
    for (const { agent, link } of this.members) {
      if (agent.isRegistered) registered++;
      if (link.isCut) cutOff++;
      const stats = agent.stats();
      allocations += stats['allocations'] ?? 0;
      running += stats['runningAllocations'] ?? 0;
    }
    return { started: this.members.length, registered, cutOff, allocations, running, ...this.counts };
  }

  private startNext(): void {
    const { nodes, startPerSecond } = this.options;
    const now = Math.max(1, Math.round((startPerSecond * START_TICK_MS) / 1_000));
    for (let i = 0; i < now && this.members.length < nodes; i++) void this.startMachine(this.members.length);
    if (this.members.length < nodes) this.timers.after((now / startPerSecond) * 1_000, () => this.startNext());
  }

  private async startMachine(number: number): Promise<void> {
    const { clock, random } = this.deps;
    const { options, timers } = this;
    const link = new UnsteadyLink({ to: this.deps.rpc, timers, random, unsteadiness: options, counts: this.counts });
    const driver = new UnsteadyDriver({ clock, timers, random }, options.taskFailures);
    const drivers = new Map<string, Driver>([[driver.name, driver]]);
    const node = simulatedMachine(options, number, new Map([[driver.name, MOCK_FINGERPRINT]]), clock.nowMs());
    const agent = new Agent({
      ...this.deps,
      rpc: link,
      timers,
      hostEnv: {},
      node: () => node,
      drivers,
      directories: noDirectories,
      records: noRecords,
      diskUse: async () => ({ diskPercent: 0, inodesPercent: 0 }),
      stopTasksOnExit: false,
    });
    this.members.push({ node, agent, link });
    await agent.start();
  }

  private cutRegularly(everyMs: number): void {
    this.timers.after(everyMs, () => {
      this.cutRegularly(everyMs);
      const whole = this.connectedMachines();
      const member = whole[Math.floor(this.deps.random() * whole.length)];
      if (member) this.cutOffMachine(member);
    });
  }

  /** Returns the machines that are not cut off, in the order of their start. */
  private connectedMachines(): FleetMember[] {
    return this.members.filter(({ link }) => !link.isCut);
  }

  /** Cuts a machine off, and reconnects it after its time. */
  private cutOffMachine({ link }: FleetMember): void {
    link.isCut = true;
    this.timers.after(this.options.cutSeconds * 1_000, () => {
      link.isCut = false;
    });
  }
}

const MOCK_FINGERPRINT = {
  health: 'healthy',
  description: 'Healthy',
  attributes: { 'driver.mock_driver': '1' },
} as const;

/** EndingTimers can all be ended at once, because the timers of a mock task may be due in a year. */
class EndingTimers implements Timers {
  private readonly running = new Set<CancelTimer>();

  constructor(private readonly timers: Timers) {}

  after(delayMs: number, run: () => void): CancelTimer {
    const cancel = this.timers.after(delayMs, () => {
      this.running.delete(cancelled);
      run();
    });
    const cancelled: CancelTimer = () => {
      this.running.delete(cancelled);
      cancel();
    };
    this.running.add(cancelled);
    return cancelled;
  }

  end(): void {
    for (const cancel of this.running) cancel();
    this.running.clear();
  }
}
