import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds rows that PostgreSQL refused to store in their tables, with keys and columns that it can always store. */
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
