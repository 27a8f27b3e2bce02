import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the hashes of the log's content, and the progress of reading it again. */
export class AddLogHashes1763758800000 implements MigrationInterface {
  readonly name = 'AddLogHashes1763758800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table log_hashes (
      first bigint primary key, last bigint not null, digest text collate "C" not null,
      unreadable integer not null, is_changed boolean not null)`);
    await runner.query(`create table log_scrub (
      id integer primary key, next bigint not null, pass bigint not null, ended_at_ms bigint not null)`);
    await runner.query('insert into log_scrub (id, next, pass, ended_at_ms) values (1, 1, 0, 0)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table log_scrub');
    await runner.query('drop table log_hashes');
  }
}
