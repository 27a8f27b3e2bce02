import type { Call } from '../command-spec.js';
import { causeOf } from '../failure.js';
import { ordinal } from '../terminal/ordinal.js';
import { betweenBatches, shownWait, understand } from './between-batches.js';
import type { Conversation } from './conversation.js';
import { type AllocationError, allocationError, errorList } from './errors.js';
import { restartInPlace } from './in-place.js';
import type { Interruption } from './interruption.js';
import type { BatchWait, RestartOptions } from './options.js';
import { Replacement } from './replacement.js';
import { allocationsPerBatch, batchesOf, type Candidate, isSystemAllocation } from './selection.js';
import type { RestartServer } from './server.js';

const ENDED_DEPLOYMENT: ReadonlySet<string> = new Set(['failed', 'successful', 'cancelled']);

export interface JobRestartParts {
  readonly job: { readonly ID: string; readonly Type?: string | null };
  readonly options: RestartOptions;
  readonly server: RestartServer;
  readonly conversation: Conversation;
  readonly interruption: Pick<Interruption, 'passed'>;
  readonly sleep: Call['sleep'];
  /** Formats an ID. */
  readonly shown: (id: string) => string;
}

/** How the loop over the batches ended. */
type Ending = 'finished' | 'canceled';

/**
 * Restarts or replaces allocations, batch by batch (job-restart.md 2.4, 2.5). States: in a batch (all its allocations
 * at the same time) → between two batches (errors, question, pause) → … → over. Started work is always awaited. Ctrl-C
 * holds up every next step (`Interruption`).
 */
export class JobRestart {
  private readonly errors: AllocationError[] = [];
  private wait: BatchWait;

  constructor(private readonly parts: JobRestartParts) {
    this.wait = parts.options.batchWait;
  }

  /** @returns the exit code */
  async restart(eligible: readonly Candidate[]): Promise<number> {
    const { conversation, options } = this.parts;
    await this.parts.interruption.passed();
    conversation.header(`Restarting ${eligible.length} allocation${eligible.length === 1 ? '' : 's'}`);
    const perBatch = allocationsPerBatch(options.batchSize, eligible.length);
    const batches = batchesOf(eligible, perBatch);
    let ending: Ending | undefined;
    for (const [i, batch] of batches.entries()) {
      if (perBatch > 1) conversation.header(`Restarting ${ordinal(i + 1)} batch of ${batch.length} allocations`);
      ending = await this.runBatch(batch, i === batches.length - 1);
      if (ending) break;
    }
    return this.conclude(ending ?? 'finished');
  }

  /** @returns how the run ended, or undefined to continue with the next batch */
  private async runBatch(batch: readonly Candidate[], isLast: boolean): Promise<Ending | undefined> {
    const { interruption } = this.parts;
    const begun: Promise<AllocationError[]>[] = [];
    let obstacle: AllocationError | undefined;
    for (const candidate of batch) {
      await interruption.passed();
      obstacle = await this.obstacle();
      await interruption.passed();
      if (obstacle) break;
      begun.push(this.handle(candidate));
    }
    const errors = (await Promise.all(begun)).flat();
    await interruption.passed();
    for (const item of [...errors, ...(obstacle ? [obstacle] : [])]) this.errors.push(item);
    return obstacle || isLast ? 'finished' : this.between(errors);
  }

  /** Returns an error if a deployment is active or the deployments cannot be read (JR-404). */
  private async obstacle(): Promise<AllocationError | undefined> {
    const { server, job, shown } = this.parts;
    try {
      const active = (await server.deployments()).find(({ Status }) => !ENDED_DEPLOYMENT.has(Status));
      if (!active) return undefined;
      return { text: `Deployment "${shown(active.ID)}" is "${active.Status}"`, unrecoverable: true };
    } catch (error) {
      return { text: `Error retrieving deployments for job "${job.ID}": ${causeOf(error)}`, unrecoverable: true };
    }
  }

  private async handle(candidate: Candidate): Promise<AllocationError[]> {
    const { options, job, shown } = this.parts;
    const failures = options.reschedule
      ? await new Replacement(candidate, isSystemAllocation(candidate, job.Type), { ...this.parts, jobId: job.ID })
          .replace(options.noShutdownDelay)
          .then(
            () => [],
            (error: unknown) => [error],
          )
      : await restartInPlace(candidate, options, this.parts);
    return failures.map((error) => allocationError(shown(candidate.alloc.ID), error));
  }

  /** Handles the errors of a batch, asks the operator if necessary, and pauses (JR-407). */
  private async between(errors: readonly AllocationError[]): Promise<Ending | undefined> {
    const { conversation, options, interruption, sleep } = this.parts;
    const found = { any: errors.length > 0, unrecoverable: errors.some(({ unrecoverable }) => unrecoverable) };
    const next = betweenBatches(found, options, this.wait);
    if (next.kind === 'stop') {
      conversation.header(next.line);
      return 'finished';
    }
    if (next.kind === 'ask') {
      if (found.any) conversation.warn(errorList(errors));
      const answer = await conversation.askUntilUnderstood(next.question.text, (given) =>
        understand(given, next.question),
      );
      if (answer === undefined || answer === 'no') return 'canceled';
      if (answer !== 'yes') {
        this.wait = answer.waitMs;
        conversation.header(`Proceeding restarts with new wait time of ${shownWait(answer.waitMs)}`);
      }
    }
    if (typeof this.wait === 'number' && this.wait > 0) {
      conversation.header(`Waiting ${shownWait(this.wait)} before restarting the next batch`);
      await sleep(this.wait);
    }
    await interruption.passed();
    return undefined;
  }

  /** Prints the ending and the collected errors. Any error makes the exit code 1 (JR-507, JR-509). */
  private conclude(ending: Ending): number {
    const { conversation } = this.parts;
    const failed = this.errors.length > 0;
    if (ending === 'canceled') conversation.header('Job restart canceled');
    else conversation.header(`Job restart finished${failed ? ' with errors' : ''}`);
    if (failed) {
      conversation.error(`\n${errorList(this.errors)}`);
      return 1;
    }
    if (ending === 'finished') conversation.plain('\nJob restarted successfully!');
    return 0;
  }
}
