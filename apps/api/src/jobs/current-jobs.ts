import { jobSubject, type Log } from '@waybill/journal';
import type { Job } from '@waybill/model';
import type { Seen } from '@waybill/writing';

/** The read model as CurrentJobs needs it. */
export interface JobReads {
  job(namespace: string, id: string): Promise<Job | undefined>;
  /** Returns the index up to which every read that begins now shows the log. */
  applied(): number;
  /** Resolves once reads show the log up to this index. @throws Refusal unavailable if the read model does not follow */
  readable(index: number): Promise<unknown>;
}

/**
 * CurrentJobs reads jobs as of the last transaction about them, whichever replica of the read model answers (API-56).
 * Writes are decided on these jobs. It has no state. Cost: one question to the log and one read at the same time; a wait
 * and a second read only if the read model lagged behind the job's last transaction.
 */
export class CurrentJobs {
  constructor(
    private readonly log: Pick<Log, 'lastSequence'>,
    private readonly reads: JobReads,
  ) {}

  /** @throws Refusal unavailable if the read model does not follow */
  async job(namespace: string, id: string): Promise<Seen<Job | undefined>> {
    const applied = this.reads.applied();
    const [sequence, row] = await Promise.all([
      this.log.lastSequence(jobSubject(namespace, id)),
      this.reads.job(namespace, id),
    ]);
    if (sequence <= applied) return { row, sequence };
    await this.reads.readable(sequence);
    return { row: await this.reads.job(namespace, id), sequence };
  }

  /**
   * Resolves when reads show the last transaction about the job. The result is its sequence, or 0 if there was none.
   */
  async awaitReadable(namespace: string, id: string): Promise<number> {
    const sequence = await this.log.lastSequence(jobSubject(namespace, id));
    if (sequence > this.reads.applied()) await this.reads.readable(sequence);
    return sequence;
  }
}
