import type { SimulatedPostgres } from '../world/simulated-postgres.js';
import type { Written } from '../world/user-api.js';
import type { LostEnds } from './lost-ends.js';
import type { ReferenceState } from './reference-state.js';
import type { Report } from './violation.js';

/** What a user was told is done: it is in the log at the index named, it counted, and it could be read by then (ST-10). */
export class AcknowledgedWrites {
  /** How often users were told that an action is done. */
  readonly byAction = new Map<string, number>();

  constructor(
    private readonly reference: ReferenceState,
    private readonly lostEnds: LostEnds,
    private readonly postgres: SimulatedPostgres,
    private readonly report: Report,
  ) {}

  /** @param askedMs true time at which the user asked */
  acknowledged(action: string, { Index }: Written, askedMs: number): void {
    this.byAction.set(action, (this.byAction.get(action) ?? 0) + 1);
    if (Index === 0) return; // there was nothing to write
    if (this.lostEnds.isGone(Index, askedMs)) return;
    const applied = this.reference.applied[Index - 1];
    const kind = applied?.verdict.kind;
    if (kind !== 'accepted' && kind !== 'noop')
      this.report(
        'acknowledged-write',
        `${action} was answered with index ${Index}, which is ${kind ?? 'not in the log'}`,
      );
    const stored = this.postgres.markAt(Index);
    if (applied && stored && stored.requestId !== applied.txn.requestId)
      this.report('acknowledged-write', `${action} was answered with index ${Index}, which is another in Postgres`);
    if (this.postgres.appliedIndex < Index)
      this.report(
        'readable-write',
        `${action} was answered with index ${Index}; Postgres is at ${this.postgres.appliedIndex}`,
      );
  }
}
