import type { Singleton, Term } from '@waybill/roles';
import type { Archiving } from './archiving.js';
import type { Projector } from './projector.js';
import type { Retention } from './retention.js';

/** What the holder of the role `projector` does: it projects the log, puts archives away, and removes what is too old. */
export class ProjectorRole implements Singleton {
  readonly role = 'projector';

  constructor(
    private readonly projector: Projector,
    private readonly retention: Retention,
    /** Absent: nobody wants archives. */
    private readonly archiving?: Archiving,
  ) {}

  start(term: Term): void {
    this.projector.start(term);
    this.archiving?.start(term);
    this.retention.start(term);
  }

  /** Both read what they need themselves. */
  applied(): void {}

  async stop(): Promise<void> {
    await Promise.all([this.projector.stop(), this.retention.stop(), this.archiving?.stop()]);
  }

  stats(): Record<string, number> {
    return { ...this.projector.stats(), ...this.retention.stats(), ...this.archiving?.stats() };
  }
}
