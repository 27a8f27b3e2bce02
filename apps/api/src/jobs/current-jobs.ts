import { jobSubject, type Log } from '@waybill/journal';
import type { Job } from '@waybill/model';
import type { Seen } from '@waybill/writing';

/**
 * CurrentJobs reads jobs as of the last transaction about them, whichever replica of the read model answers (API-56).
 * Writes are decided on these jobs. Cost: one question to the log, and a wait if the read model lags behind. It has no
 * state.
 */
export class CurrentJobs {
  constructor(
    private readonly log: Pick<Log, 'lastSequence'>,
    private readonly read: { job(namespace: string, id: string): Promise<Job | undefined> },
    private readonly readable: (index: number) => Promise<unknown>,
  ) {}

  /** @throws Refusal unavailable if the read model does not follow */
  async job(namespace: string, id: string): Promise<Seen<Job | undefined>> {
    const sequence = await this.awaitReadable(namespace, id);
    return { row: await this.read.job(namespace, id), sequence };
  }

  /**
   * Resolves when reads show the last transaction about the job. The result is its sequence, or 0 if there was none.
   */
  async awaitReadable(namespace: string, id: string): Promise<number> {
    const sequence = await this.log.lastSequence(jobSubject(namespace, id));
    if (sequence > 0) await this.readable(sequence);
    return sequence;
  }
}
