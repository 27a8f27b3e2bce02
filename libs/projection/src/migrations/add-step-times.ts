import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the durations of the steps before a transaction, from its header (CL-1047). */
export class AddStepTimes1763726400000 implements MigrationInterface {
  readonly name = 'AddStepTimes1763726400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table txn add column step_times text collate "C" not null default ''`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table txn drop column step_times');
  }
}
