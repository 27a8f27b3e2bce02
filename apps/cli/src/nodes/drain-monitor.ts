import type { Allocation, DrainStrategy } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import type { Call } from '../command-spec.js';
import { failed } from '../failure.js';
import type { NodeAllocation, NodeAnswer } from './node-sections.js';
import { absoluteTime, rfc3339 } from '../terminal/times.js';

const isStillThere = (status: Allocation['ClientStatus'] | undefined): boolean =>
  status === 'pending' || status === 'running';

/**
 * Watches a drain until the node has no drain strategy and no pending or running allocations (CL-515, CL-516). Cost:
 * two blocking reads at any time, one of the node and one of its allocations.
 */
export class DrainMonitor {
  private readonly api: ApiClient;
  private ignoresSystemJobs = false;

  constructor(
    private readonly call: Pick<Call, 'api' | 'terminal' | 'clock'>,
    private readonly nodeId: string,
  ) {
    this.api = call.api;
  }

  /** @param index of the write that started the drain; 0 to start with the present state. @throws CommandFailure */
  async follow(strategy: DrainStrategy | null, index: number): Promise<void> {
    this.ignoresSystemJobs = strategy?.IgnoreSystemJobs ?? false;
    await Promise.all([this.followNode(strategy, index), this.followAllocations()]);
  }

  private async followNode(first: DrainStrategy | null, index: number): Promise<void> {
    let [before, status, at] = [first, '', index];
    for (;;) {
      const answer = await this.api
        .get<NodeAnswer>(`/v1/node/${this.nodeId}`, { index: at || undefined })
        .catch((error: unknown) => {
          throw failed('monitoring node', error);
        });
      const { DrainStrategy: strategy = null, Status = '' } = answer.value;
      if (!strategy) return this.say(`Drain complete for node ${this.nodeId}`);
      if (Status === 'down' && status !== 'down') this.call.terminal.warn(this.line(`Node "${this.nodeId}" down`));
      if (before && JSON.stringify(strategy) !== JSON.stringify(before))
        this.say(`Node "${this.nodeId}" drain updated: ${strategyText(strategy)}`);
      [before, status, at] = [strategy, Status, answer.index];
    }
  }

  private async followAllocations(): Promise<void> {
    const known = new Map<string, NodeAllocation>();
    for (let at = 0; ;) {
      const query = { index: at || undefined, namespace: '*' };
      const answer = await this.api
        .get<NodeAllocation[] | null>(`/v1/node/${this.nodeId}/allocations`, query)
        .catch((error: unknown) => {
          throw failed('monitoring allocations', error);
        });
      const counted = (answer.value ?? []).filter((alloc) => !(this.ignoresSystemJobs && alloc.Job?.Type === 'system'));
      for (const alloc of counted) {
        const change = changeOf(known.get(alloc.ID), alloc);
        if (change !== undefined) this.say(`Alloc "${alloc.ID}" ${change}`);
        known.set(alloc.ID, alloc);
      }
      if (!counted.some((alloc) => isStillThere(alloc.ClientStatus)))
        return this.say(`All allocations on node "${this.nodeId}" have stopped`);
      at = answer.index;
    }
  }

  private say(text: string): void {
    this.call.terminal.print(this.line(text));
  }

  private line(text: string): string {
    return `${rfc3339(this.call.clock.nowMs())}: ${text}`;
  }
}

/**
 * Describes the change of an allocation (CL-515). Returns undefined for an unimportant change and for a new allocation.
 */
export function changeOf(before: NodeAllocation | undefined, after: NodeAllocation): string | undefined {
  if (!before) return undefined;
  if (before.ClientStatus !== after.ClientStatus) return `status ${before.ClientStatus} -> ${after.ClientStatus}`;
  const marked = after.DesiredTransition?.Migrate === true;
  if (marked && before.DesiredTransition?.Migrate !== true) return 'marked for migration';
  if (marked && before.DesiredStatus !== 'stop' && after.DesiredStatus === 'stop') return 'draining';
  return undefined;
}

/** Describes a drain strategy with its deadline, or `none` (CL-516). */
function strategyText({ IgnoreSystemJobs, Deadline, ForceDeadline }: DrainStrategy): string {
  const at = Deadline > 0 ? absoluteTime(ForceDeadline) : 'none';
  return `drain ${IgnoreSystemJobs ? 'ignoring system jobs and deadline' : 'with deadline'} at ${at}`;
}
