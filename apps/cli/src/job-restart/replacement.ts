import type { Call } from '../command-spec.js';
import { causeOf } from '../failure.js';
import { placementBullets } from '../jobs/placement-metrics.js';
import type { Conversation } from './conversation.js';
import { failedTo, PlacementFailed } from './errors.js';
import type { Candidate } from './selection.js';
import type { FollowedAllocation, RestartServer } from './server.js';

/** Milliseconds between two messages that there is still no replacement (JR-705). */
const STILL_WAITING_MS = 60_000;
/** A blocking read with this index returns at once. */
const AT_ONCE = 1;
const ENDED: ReadonlySet<string> = new Set(['complete', 'failed', 'lost']);

export interface ReplacementParts {
  readonly jobId: string;
  readonly server: RestartServer;
  readonly conversation: Conversation;
  readonly sleep: Call['sleep'];
  readonly shown: (id: string) => string;
}

/**
 * Stops an allocation and waits until its replacement runs (job-restart.md 2.7). States: stopping → (system job:
 * stopped → evaluated) → following the chain of replacements, while the job's evaluations are watched for one that
 * could not place the group → running, or failed. Keeps two blocking reads open, without a time limit.
 */
export class Replacement {
  private readonly id: string;
  private readonly group: string;

  constructor(
    { alloc }: Candidate,
    private readonly isSystem: boolean,
    private readonly parts: ReplacementParts,
  ) {
    this.id = alloc.ID;
    this.group = alloc.TaskGroup;
  }

  /** @throws Error, PlacementFailed */
  async replace(noShutdownDelay: boolean): Promise<void> {
    const { server, conversation } = this.parts;
    conversation.detail(`Rescheduling allocation "${this.shown(this.id)}" for group "${this.group}"`);
    const stoppedAt = await server.stop(this.id, noShutdownDelay).catch((error: unknown) => {
      throw failedTo('stop allocation', error);
    });
    await firstOf([
      async (signal) => {
        if (this.isSystem) await this.evaluateOnceStopped(signal);
        await firstOf(
          [(over) => this.placementFailure(stoppedAt, over), (over) => this.replacementRunning(over)],
          signal,
        );
      },
      (signal) => this.stillWaiting(signal),
    ]);
  }

  /**
   * Evaluates the job once the allocation is stopped (JR-607). An earlier evaluation might count the allocation as
   * running and place nothing.
   */
  private async evaluateOnceStopped(signal: AbortSignal): Promise<void> {
    for (let index = AT_ONCE; ;) {
      const seen = await this.readAllocation(this.id, index, signal);
      if (isStopped(seen.value)) break;
      index = seen.index;
    }
    await this.parts.server.evaluate().catch((error: unknown) => {
      // The contract has no "to" in this message (JR-603).
      throw new Error(`Failed evaluate job: ${causeOf(error)}`);
    });
  }

  /** Waits for a blocked evaluation with placement failures of the group, and throws them (JR-701, JR-704). */
  private async placementFailure(stoppedAt: number, signal: AbortSignal): Promise<never> {
    const { server, jobId } = this.parts;
    for (let index = stoppedAt; ;) {
      const seen = await server.evaluations(index, signal).catch((error: unknown) => {
        throw failedTo(`retrieve evaluations for job "${jobId}"`, error);
      });
      for (const { ID, CreateIndex = 0, Status, FailedTGAllocs } of seen.value) {
        const metrics = FailedTGAllocs?.[this.group];
        if (!metrics || CreateIndex < stoppedAt || Status !== 'blocked') continue;
        const title = `Evaluation "${this.shown(ID)}" has placement failures for group "${this.group}":`;
        throw new PlacementFailed([title, ...placementBullets(metrics).map((line) => `    ${line}`)].join('\n'));
      }
      index = seen.index;
    }
  }

  /** Follows the chain of replacements until one of them runs (JR-703). */
  private async replacementRunning(signal: AbortSignal): Promise<void> {
    const { conversation } = this.parts;
    for (let [id, index] = [this.id, AT_ONCE]; ;) {
      const { value, index: seenAt } = await this.readAllocation(id, index, signal);
      const { NextAllocation: next, ClientStatus } = value;
      if (next) {
        const [from, to] = [this.shown(id), this.shown(next)];
        conversation.detail(`Allocation "${from}" replaced by "${to}", waiting for "${to}" to start running`);
        [id, index] = [next, AT_ONCE];
        continue;
      }
      if (ClientStatus !== 'running') conversation.aside(`Allocation "${this.shown(id)}" is "${ClientStatus}"`);
      else if (id !== this.id) return conversation.detail(`Allocation "${this.shown(id)}" is "running"`);
      index = seenAt;
    }
  }

  /** Reports every minute that the wait goes on, and throws once the job is stopped (JR-705, JR-707). */
  private async stillWaiting(signal: AbortSignal): Promise<never> {
    const { server, conversation, sleep, jobId } = this.parts;
    const text = `Still waiting for allocation "${this.shown(this.id)}" to be replaced`;
    for (;;) {
      await sleep(STILL_WAITING_MS, signal);
      // A failed read does not end the wait, because the other reads report the problem.
      const stopped = await server.isStopped().catch(() => false);
      if (signal.aborted) throw signal.reason;
      conversation.detail(stopped ? `${text}, but job "${jobId}" is stopped` : text);
      if (stopped) throw new Error(`Job "${jobId}" was stopped`);
    }
  }

  private readAllocation(id: string, index: number, signal: AbortSignal) {
    return this.parts.server.allocation(id, index, signal).catch((error: unknown) => {
      throw failedTo(`retrieve allocation "${this.shown(id)}"`, error);
    });
  }

  private shown(id: string): string {
    return this.parts.shown(id);
  }
}

const isStopped = ({ DesiredStatus, ClientStatus, NextAllocation }: FollowedAllocation): boolean =>
  DesiredStatus !== 'run' || ENDED.has(ClientStatus) || Boolean(NextAllocation);

/** Runs all at once. The first one that ends decides, and the others are aborted. */
async function firstOf(
  watchers: readonly ((signal: AbortSignal) => Promise<void>)[],
  outer?: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const signal = outer ? AbortSignal.any([outer, over.signal]) : over.signal;
  try {
    await Promise.race(watchers.map((watch) => watch(signal)));
  } finally {
    over.abort();
  }
}
