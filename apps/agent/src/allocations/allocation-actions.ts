import { type AllocCheckStatus, Refusal } from '@waybill/model';
import type {
  AllocChecksRequest,
  AllocResourceUsage,
  AllocStatsRequest,
  CollectAllocsRequest,
  DeviceGroupStats,
  HostStats,
  RestartAllocRequest,
  SignalAllocRequest,
} from '@waybill/rpc';
import type { Agent } from '../agent.js';
import { withDevices } from './device-usage.js';
import type { AllocationRunner } from './allocation-runner.js';

/**
 * AllocationActions serves operators' requests about this machine and its allocations: usage, restart, signal,
 * collection (agent.md sections 15, 19, 24). Stateless.
 */
export class AllocationActions {
  constructor(
    private readonly agent: Pick<Agent, 'runnerOf' | 'collector'>,
    private readonly usageOfHost: () => Promise<HostStats>,
    /** Returns the statistics of all devices; the default is none. */
    private readonly deviceStats: () => readonly DeviceGroupStats[] = () => [],
  ) {}

  hostStats(): Promise<HostStats> {
    return this.usageOfHost();
  }

  /** @throws Refusal not-found, conflict */
  stats({ AllocID, Task }: AllocStatsRequest): Promise<AllocResourceUsage> {
    return this.callRunner(AllocID, async (runner) =>
      withDevices(await runner.usage(Task), runner.alloc, this.deviceStats()),
    );
  }

  /** The latest results of an allocation's checks (AG-146). @throws Refusal not-found */
  checks({ AllocID }: AllocChecksRequest): Promise<Record<string, AllocCheckStatus>> {
    return this.callRunner(AllocID, async (runner) => runner.checks());
  }

  /** @throws Refusal not-found, conflict */
  async restart({ AllocID, TaskName, AllTasks }: RestartAllocRequest): Promise<null> {
    await this.callRunner(AllocID, (runner) => runner.restart(TaskName, AllTasks));
    return null;
  }

  /** @throws Refusal not-found, conflict, or the driver's error */
  async signal({ AllocID, Task, Signal }: SignalAllocRequest): Promise<null> {
    await this.callRunner(AllocID, (runner) => runner.signal(Task, Signal));
    return null;
  }

  /** Collects an ended allocation, or with an empty ID all ended allocations (AG-213). @throws Refusal conflict */
  async collect({ AllocID }: CollectAllocsRequest): Promise<null> {
    if (AllocID === '') await this.agent.collector.collectAll();
    else if (!(await this.agent.collector.collectOne(AllocID)))
      throw new Refusal('conflict', 'No such allocation on client, or allocation not eligible for GC');
    return null;
  }

  private async callRunner<T>(allocId: string, ask: (runner: AllocationRunner) => Promise<T>): Promise<T> {
    const runner = this.agent.runnerOf(allocId);
    if (!runner) throw new Refusal('not-found', `Unknown allocation "${allocId}"`);
    return ask(runner);
  }
}
