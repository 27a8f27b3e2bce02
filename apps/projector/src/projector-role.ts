import type { Singleton, Term } from '@waybill/roles';
import type { Archiving } from './archiving.js';
import type { Projector } from './projector.js';
import type { Retention } from './retention.js';
import type { Scrubber } from './scrubbing/scrubber.js';

/**
 * ProjectorRole does the work of the holder of the role `projector`: it projects the log, stores archives, removes old
 * data, and reads the log again to detect changed bytes.
 */
export class ProjectorRole implements Singleton {
  readonly role = 'projector';

  constructor(
    private readonly projector: Projector,
    private readonly retention: Retention,
    /** Archiving is absent if no archives are configured. */
    private readonly archiving?: Archiving,
    /** The scrubber is absent if scrubbing is off. */
    private readonly scrubber?: Scrubber,
  ) {}

  start(term: Term): void {
    this.projector.start(term);
    this.archiving?.start(term);
    this.retention.start(term);
    this.scrubber?.start(term);
  }

  /** Ignores the call, because the parts read the log themselves. */
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
