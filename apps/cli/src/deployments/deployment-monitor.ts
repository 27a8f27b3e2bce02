import type { AllocListStub, Deployment } from '@waybill/model';
import { allocationTable } from '../allocations/allocation-table.js';
import type { Call } from '../command-spec.js';
import { deploymentBlock } from './deployment-block.js';
import { Display } from '../terminal/display.js';
import { causeOf, isInterrupt } from '../failure.js';
import { LiveBlock } from '../terminal/live-block.js';
import { jobPath } from '../jobs/resolve-job.js';
import { retriedRead } from '../server/retried-read.js';
import { rfc3339 } from '../terminal/times.js';

const OVER = new Set(['successful', 'failed', 'cancelled', 'blocked']);
/** Number of attempts to find the deployment that reverts the job (CL-215). */
const ROLLBACK_LOOKS = 5;
const ROLLBACK_WAIT_MS = 1_000;

/**
 * Follows a deployment until it ends (cli.md 3.2). On a terminal, one block is redrawn in place; otherwise there is one
 * block per change. Cost: one blocking read at a time, plus the allocations with -verbose.
 */
export class DeploymentMonitor {
  constructor(
    private readonly call: Call,
    /** The line before each block if stdout is not a terminal (CL-213). */
    private readonly separator: string,
    /** Longest wait of one blocking read. The server's default if absent. */
    private readonly waitMs?: number,
  ) {}

  /** Resolves with the final status, or undefined if the deployment cannot be read. */
  async follow(id: string): Promise<string | undefined> {
    const { terminal, clock } = this.call;
    try {
      const ended = await this.untilOver(id);
      const reverts = Object.values(ended.TaskGroups ?? {}).some((group) => group.AutoRevert);
      if (ended.Status === 'failed' && reverts) await this.followRollback(ended);
      return ended.Status;
    } catch (error) {
      if (isInterrupt(error)) throw error;
      terminal.error(`${rfc3339(clock.nowMs())}: Error fetching deployment: ${causeOf(error)}`);
      return undefined;
    }
  }

  private async untilOver(id: string): Promise<Deployment> {
    const { terminal } = this.call;
    const live = terminal.options.interactive ? new LiveBlock(terminal, `Deployment "${this.shown(id)}"`) : undefined;
    try {
      let shown = '';
      for (let index = 0; ;) {
        const answer = await this.readDeployment(id, index);
        const deployment = answer.value;
        index = answer.index;
        const block = await this.blockOf(deployment);
        if (live) live.show(this.timed(block, '    '));
        else if (block !== shown) terminal.print(`${this.separator}\n${this.timed(block, '')}`);
        shown = block;
        if (!OVER.has(deployment.Status)) continue;
        live?.finish(deployment.Status);
        return deployment;
      }
    } finally {
      live?.stop();
    }
  }

  private readDeployment(id: string, index: number) {
    const wait = this.waitMs === undefined ? undefined : `${this.waitMs}ms`;
    const query = { stale: true, ...(index > 0 ? { index, wait } : {}) };
    return retriedRead('deployment', this.call, () => this.call.api.get<Deployment>(`/v1/deployment/${id}`, query));
  }

  /** Follows the deployment that reverts the failed one, if there is one (CL-215, CL-216). */
  private async followRollback(failed: Deployment): Promise<void> {
    const { api, sleep, terminal } = this.call;
    const path = jobPath(failed.JobID, '/deployment');
    for (let look = 0; look < ROLLBACK_LOOKS; look++) {
      await sleep(ROLLBACK_WAIT_MS);
      const { value } = await api.get<Deployment | null>(path, { namespace: failed.Namespace });
      if (!value || value.ID === failed.ID) continue;
      terminal.print('');
      await this.follow(value.ID);
      return;
    }
  }

  private async blockOf(deployment: Deployment): Promise<string> {
    const { api, terminal, flags, clock } = this.call;
    const display = new Display(flags.on('verbose'), clock.nowMs());
    const block = await deploymentBlock(api, deployment, display, (text) => terminal.bold(text));
    if (!display.verbose) return block;
    const path = `/v1/deployment/allocations/${deployment.ID}`;
    const allocs = await retriedRead('deployment', this.call, () => api.get<AllocListStub[] | null>(path));
    return `${block}\n\n${terminal.bold('Allocations')}\n${allocationTable(allocs.value ?? [], display)}`;
  }

  private timed(block: string, indent: string): string {
    return [rfc3339(this.call.clock.nowMs()), ...block.split('\n')]
      .map((line) => (line === '' ? '' : indent + line))
      .join('\n');
  }

  private shown(id: string): string {
    return new Display(this.call.flags.on('verbose'), 0).id(id);
  }
}
