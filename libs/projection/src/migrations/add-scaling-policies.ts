import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds scaling policies. Those of existing jobs are stored with their next version. */
export class AddScalingPolicies1763719200000 implements MigrationInterface {
  readonly name = 'AddScalingPolicies1763719200000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table scaling_policy');
  }
}

const TEXT = 'text collate "C" not null';

const UP = [
  `create table scaling_policy (
     id ${TEXT}, namespace ${TEXT}, job_id ${TEXT}, type ${TEXT},
     create_index bigint not null, modify_index bigint not null, body varchar not null, primary key (id))`,
  'create index scaling_policy_job on scaling_policy (namespace, job_id)',
];
