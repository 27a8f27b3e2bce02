import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the codes of refused transactions. Null for other transactions, and for records of older versions. */
export class AddRefusalCodes1763751600000 implements MigrationInterface {
  readonly name = 'AddRefusalCodes1763751600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table txn add column refusal_code text collate "C"');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table txn drop column refusal_code');
  }
}
