import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What PostgreSQL refused to store in its table, kept under keys and in columns that it can always store. */
export class AddSetAside1763740800000 implements MigrationInterface {
  readonly name = 'AddSetAside1763740800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table set_aside (
      part ${TEXT}, key_hash ${TEXT}, index bigint not null, txn_name ${TEXT}, time_ns bigint not null, object ${TEXT},
      sqlstate ${TEXT}, error ${TEXT}, job_key ${TEXT}, gone boolean not null, body varchar not null,
      primary key (part, key_hash))`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table set_aside');
  }
}

const TEXT = 'text collate "C" not null';
