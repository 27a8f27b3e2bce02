import type { Logger } from '@waybill/telemetry';

/** At most one line in this time, milliseconds: everybody who reads the damaged page meets it. */
export const DAMAGE_LINE_MS = 600_000;

/** Counts what the statements of this process meet of damaged files of Postgres, and says it. */
export class DatabaseDamage {
  private saidAtMs = Number.NEGATIVE_INFINITY;
  private counted = 0;

  /** @param nowMs a clock that nobody sets */
  constructor(
    private readonly logger: Logger,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Statements that met it since the start. */
  get statements(): number {
    return this.counted;
  }

  /** @param reason what Postgres says */
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
