import type { Singleton, Term } from '@waybill/lease';
import type { Applied } from '@waybill/state';

/**
 * Claims on volumes and the calls to their plugins, while this process holds the role `volumes`.
 *
 * Modes: standby → holder → standby. There are no volume tables in the state yet (docs/gaps.md), so a holder has
 * nothing to keep; lease, state and life cycle are those that the claims will run under.
 */
export class VolumeClaims implements Singleton {
  readonly role = 'volumes';
  private terms = 0;

  start(_term: Term): void {
    this.terms++;
  }

  applied(_applied: Applied): void {}

  stop(): void {}

  stats(): Record<string, number> {
    return { terms: this.terms };
  }
}
