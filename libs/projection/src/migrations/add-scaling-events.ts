import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the scaling events of jobs. */
export class AddScalingEvents1763701200000 implements MigrationInterface {
  readonly name = 'AddScalingEvents1763701200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table scaling_event (
         namespace text collate "C" not null, job_id text collate "C" not null,
         create_index bigint not null, modify_index bigint not null, body json not null, primary key (namespace, job_id))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table scaling_event`);
  }
}
