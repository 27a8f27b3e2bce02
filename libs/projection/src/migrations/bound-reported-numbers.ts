import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createReportingViews } from './add-reporting-views.js';

/** Numbers that fit no type of PostgreSQL's, fractions and times out of range no longer make the reporting views fail. */
export class BoundReportedNumbers1763744400000 implements MigrationInterface {
  readonly name = 'BoundReportedNumbers1763744400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('drop schema reporting cascade');
    await createReportingViews(runner, '::json');
  }

  /** The views are the same for an older version. */
  async down(): Promise<void> {}
}
