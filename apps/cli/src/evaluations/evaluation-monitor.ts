import type { AllocListStub, Job } from '@waybill/model';
import { formatDuration } from '@waybill/model/duration';
import { isNotFound } from '../server/api-failure.js';
import type { Call } from '../command-spec.js';
import { DeploymentMonitor } from '../deployments/deployment-monitor.js';
import type { EvaluationAnswer } from './evaluation-table.js';
import { causeOf, CommandFailure, isInterrupt } from '../failure.js';
import { failedGroups, failedGroupTitle } from '../jobs/placement-metrics.js';
import { failureLines, placementReasons } from '../jobs/placement-reasons.js';
import { jobPath } from '../jobs/resolve-job.js';
import { retriedRead } from '../server/retried-read.js';
import { shortId } from '../terminal/short-id.js';
import { escapeControls } from '../terminal/table.js';
import { rfc3339 } from '../terminal/times.js';
import { namespaceWord, watchable } from '../server/watch-on.js';

/** Exit code after placement failures that no deployment resolved (cli.md 1.2). */
export const PLACEMENT_FAILED = 2;
/**
 * Longest wait of one blocking read. A change of the evaluation is shown at once, and one of its allocations after this
 * time at most.
 */
const READ_WAIT = '1s';
const FIRST_STATUS = 'pending';
const WAITS_FOR_ROOM = 'The job waits for room and is placed as soon as there is some';

/** The printed state of one evaluation. */
interface Seen {
  node: string;
  job: string;
  deployment: string;
  status: string;
  readonly allocs: Map<string, string>;
}

/**
 * Prints the progress of an evaluation, then of its deployment (cli.md 3.1). States: reading (until the evaluation is
 * terminal) → next evaluation of the chain, or its deployment → over. Only changes are printed, so a repeated read
 * prints nothing.
 */
export class EvaluationMonitor {
  constructor(private readonly call: Call) {}

  /**
   * Resolves with the exit code (CL-207). An interrupt prints how to continue watching, because it ended nothing else
   * (CL-165).
   */
  async follow(id: string): Promise<number> {
    const { api } = this.call;
    let next = id;
    const again = () => `eval status -monitor${namespaceWord(api)} ${shortId(next)}`;
    return watchable(this.call, again, async () => {
      for (;;) {
        const ended = await this.untilTerminal(next);
        const placementFailed = await this.printEnd(ended);
        if (!ended.NextEval) return await this.afterwards(ended, placementFailed);
        await this.announceNext(ended);
        next = ended.NextEval;
      }
    });
  }

  private async untilTerminal(id: string): Promise<EvaluationAnswer> {
    this.head(`Monitoring evaluation "${this.shown(id)}"`);
    const seen: Seen = { node: '', job: '', deployment: '', status: FIRST_STATUS, allocs: new Map() };
    for (let index = 0; ;) {
      const answer = await this.readEvaluation(id, index);
      index = answer.index;
      const evaluation = answer.value;
      this.printChanges(evaluation, await this.readAllocations(evaluation), seen);
      if (evaluation.Status === 'complete' || evaluation.Status === 'failed' || evaluation.Status === 'canceled')
        return evaluation;
      // A response without an index does not block.
      if (index === 0) await this.call.sleep(1_000);
    }
  }

  /** Prints only the differences from the previous reading, in a fixed order (CL-203). */
  private printChanges(evaluation: EvaluationAnswer, allocs: readonly AllocListStub[], seen: Seen): void {
    const { NodeID = '', JobID = '', DeploymentID = '', Status } = evaluation;
    if (NodeID !== '' && NodeID !== seen.node) this.detail(`Evaluation triggered by node "${this.shown(NodeID)}"`);
    if (JobID !== '' && JobID !== seen.job) this.detail(`Evaluation triggered by job "${JobID}"`);
    if (DeploymentID !== '' && DeploymentID !== seen.deployment)
      this.detail(`Evaluation within deployment: "${this.shown(DeploymentID)}"`);
    for (const alloc of allocs.toSorted((a, b) => (a.ID < b.ID ? -1 : 1)))
      this.printAllocation(alloc, evaluation, seen);
    if (Status !== seen.status && Status !== 'pending')
      this.detail(`Evaluation status changed: "${seen.status}" -> "${Status}"`);
    Object.assign(seen, { node: NodeID, job: JobID, deployment: DeploymentID, status: Status });
  }

  /** Prints a new allocation, or the new client status of a known one (CL-204). */
  private printAllocation(alloc: AllocListStub, evaluation: EvaluationAnswer, seen: Seen): void {
    const before = seen.allocs.get(alloc.ID);
    seen.allocs.set(alloc.ID, alloc.ClientStatus);
    const name = `Allocation "${this.shown(alloc.ID)}"`;
    const place = `node "${this.shown(alloc.NodeID)}", group "${alloc.TaskGroup}"`;
    if (before === undefined) {
      if (alloc.CreateIndex < (evaluation.CreateIndex ?? 0)) this.detail(`${name} modified: ${place}`);
      else if (alloc.DesiredStatus === 'run') this.detail(`${name} created: ${place}`);
    } else if (before !== alloc.ClientStatus) {
      const why = alloc.ClientDescription ? ` (${alloc.ClientDescription})` : '';
      this.detail(`${name} status changed: "${before}" -> "${alloc.ClientStatus}"${why}`);
    }
  }

  /** Prints the end of an evaluation (CL-205). Returns whether placements failed. */
  private async printEnd(evaluation: EvaluationAnswer): Promise<boolean> {
    const { terminal } = this.call;
    const failures = failedGroups(evaluation.FailedTGAllocs);
    const finished = `Evaluation "${this.shown(evaluation.ID)}" finished with status "${evaluation.Status}"`;
    if (failures.length === 0) {
      this.head(finished);
      return false;
    }
    this.head(`${finished} but failed to place all allocations:`);
    const { api } = this.call;
    const job = async () => (await api.get<Job>(jobPath(evaluation.JobID ?? ''))).value;
    const reasons = await placementReasons(api, job, failures);
    for (const failure of failures) {
      this.detail(failedGroupTitle(...failure));
      for (const line of failureLines(failure, reasons, (text) => terminal.red(text))) terminal.print(`      ${line}`);
    }
    if (evaluation.BlockedEval) {
      this.detail(
        `Evaluation "${this.shown(evaluation.BlockedEval)}" waiting for additional capacity to place remainder`,
      );
      terminal.note(evaluation.DeploymentID ? `${WAITS_FOR_ROOM}; Ctrl-C leaves it queued.` : `${WAITS_FOR_ROOM}.`);
    }
    return true;
  }

  /** Announces the next evaluation of a chain and sleeps until it is due (CL-206). */
  private async announceNext(ended: EvaluationAnswer): Promise<void> {
    const waitNs = ended.Wait ?? 0;
    if (waitNs === 0) return;
    this.head(`Monitoring next evaluation "${this.shown(ended.NextEval ?? '')}" in ${formatDuration(waitNs)}`);
    await this.call.sleep(waitNs / 1e6);
  }

  /**
   * Follows the deployment, whose success determines the exit code. Without a deployment, placement failures do
   * (CL-207).
   */
  private async afterwards(ended: EvaluationAnswer, placementFailed: boolean): Promise<number> {
    if (ended.DeploymentID) {
      this.head(`Monitoring deployment "${this.shown(ended.DeploymentID)}"`);
      const status = await new DeploymentMonitor(this.call, '    ').follow(ended.DeploymentID);
      return status === 'successful' ? 0 : 1;
    }
    return placementFailed ? PLACEMENT_FAILED : 0;
  }

  private async readEvaluation(id: string, index: number) {
    const query = index > 0 ? { index, wait: READ_WAIT } : {};
    try {
      return await retriedRead('evaluation', this.call, () =>
        this.call.api.get<EvaluationAnswer>(`/v1/evaluation/${encodeURIComponent(id)}`, query),
      );
    } catch (error) {
      if (isInterrupt(error)) throw error;
      const reason = isNotFound(error) ? '' : `\n${causeOf(error)}`;
      throw new CommandFailure(`==> No evaluation with id "${id}" found${reason}`);
    }
  }

  private async readAllocations({ ID }: EvaluationAnswer): Promise<AllocListStub[]> {
    const path = `/v1/evaluation/${encodeURIComponent(ID)}/allocations`;
    try {
      const read = () => this.call.api.get<AllocListStub[] | null>(path);
      return (await retriedRead('allocations', this.call, read)).value ?? [];
    } catch (error) {
      if (isInterrupt(error)) throw error;
      throw new CommandFailure(`==> ${this.now()}: Error reading allocations: ${causeOf(error)}`);
    }
  }

  private head(text: string): void {
    this.call.terminal.print(`==> ${this.now()}: ${escapeControls(text)}`);
  }

  private detail(text: string): void {
    this.call.terminal.print(`    ${this.now()}: ${escapeControls(text)}`);
  }

  private now(): string {
    return rfc3339(this.call.clock.nowMs());
  }

  private shown(id: string): string {
    return shortId(id, this.call.flags.on('verbose'));
  }
}
