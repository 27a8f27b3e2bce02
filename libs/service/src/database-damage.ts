import type { Logger } from '@waybill/telemetry';

/** Milliseconds in which at most one line is logged, because every reader of the damaged page meets it. */
export const DAMAGE_LINE_MS = 600_000;

/** Counts and logs statements of this process that met damaged files of PostgreSQL. */
export class DatabaseDamage {
  private saidAtMs = Number.NEGATIVE_INFINITY;
  private counted = 0;

  /** @param nowMs a clock that cannot be set */
  constructor(
    private readonly logger: Logger,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Number of statements that met damage since the start. */
  get statements(): number {
    return this.counted;
  }

  /** @param reason PostgreSQL's error */
  met(reason: string): void {
    this.counted += 1;
    if (this.nowMs() - this.saidAtMs < DAMAGE_LINE_MS) return;
    this.saidAtMs = this.nowMs();
    this.logger.error('the files of PostgreSQL are damaged: make the database anew from the log', {
      reason,
      next: 'waybill operator projection rebuild; see WaybillDatabaseDamaged in docs/monitoring.md',
    });
  }
}
