import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Why a transaction was refused, as the code that its writer's answer follows; null: it was not, or before this version. */
export class AddRefusalCodes1763751600000 implements MigrationInterface {
  readonly name = 'AddRefusalCodes1763751600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table txn add column refusal_code text collate "C"');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table txn drop column refusal_code');
  }
}
