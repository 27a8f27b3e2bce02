import type { Singleton, Term } from '@waybill/roles';
import type { Archiving } from './archiving.js';
import type { Projector } from './projector.js';
import type { Retention } from './retention.js';
import type { Scrubber } from './scrubbing/scrubber.js';

/**
 * What the holder of the role `projector` does: it projects the log, puts archives away, removes what is too old, and reads
 * the log again to see whether it is still what it was.
 */
export class ProjectorRole implements Singleton {
  readonly role = 'projector';

  constructor(
    private readonly projector: Projector,
    private readonly retention: Retention,
    /** Absent: nobody wants archives. */
    private readonly archiving?: Archiving,
    /** Absent: nobody wants the log scrubbed. */
    private readonly scrubber?: Scrubber,
  ) {}

  start(term: Term): void {
    this.projector.start(term);
    this.archiving?.start(term);
    this.retention.start(term);
    this.scrubber?.start(term);
  }

  /** They read what they need themselves. */
  applied(): void {}

  async stop(): Promise<void> {
    await Promise.all([this.projector.stop(), this.retention.stop(), this.archiving?.stop(), this.scrubber?.stop()]);
  }

  stats(): Record<string, number> {
    return {
      ...this.projector.stats(),
      ...this.retention.stats(),
      ...this.archiving?.stats(),
      ...this.scrubber?.stats(),
    };
  }
}
