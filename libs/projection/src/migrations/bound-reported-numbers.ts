import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createReportingViews } from './add-reporting-views.js';

/**
 * Keeps numbers that fit no type of PostgreSQL, fractions and times out of range from making the reporting views fail.
 */
export class BoundReportedNumbers1763744400000 implements MigrationInterface {
  readonly name = 'BoundReportedNumbers1763744400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('drop schema reporting cascade');
    await createReportingViews(runner, '::json');
  }

  /** An older version has the same views. */
  async down(): Promise<void> {}
}
