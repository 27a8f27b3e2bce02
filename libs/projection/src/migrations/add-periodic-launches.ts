import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the last launches of periodic jobs (ST-60). */
export class AddPeriodicLaunches1763697600000 implements MigrationInterface {
  readonly name = 'AddPeriodicLaunches1763697600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table periodic_launch (
         namespace text collate "C" not null, id text collate "C" not null,
         create_index bigint not null, modify_index bigint not null, body json not null, primary key (namespace, id))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table periodic_launch`);
  }
}
