import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds tokens, policies and roles of access control. No table contains a secret, because tokens are found by their
 * hashes.
 */
export class AddAccessControl1763755200000 implements MigrationInterface {
  readonly name = 'AddAccessControl1763755200000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['acl_policy', 'acl_token', 'acl_token_bootstrap', 'acl_roles', 'one_time_token'])
      await runner.query(`drop table ${table}`);
  }
}

const TEXT = 'text collate "C" not null';
const ROW = 'create_index bigint not null, modify_index bigint not null, body varchar not null';

const UP = [
  `create table acl_policy (name ${TEXT}, job_namespace ${TEXT}, ${ROW}, primary key (name))`,
  'create index acl_policy_job_namespace on acl_policy (job_namespace)',
  `create table acl_token (
     accessor_id ${TEXT}, secret_hash ${TEXT}, type ${TEXT}, global boolean not null, ${ROW},
     primary key (accessor_id))`,
  'create unique index acl_token_secret on acl_token (secret_hash)',
  'create index acl_token_created on acl_token (create_index, accessor_id)',
  `create table acl_token_bootstrap (
     id ${TEXT}, modify_index bigint not null, body varchar not null, primary key (id))`,
  `create table acl_roles (id ${TEXT}, name ${TEXT}, ${ROW}, primary key (id))`,
  'create index acl_roles_name on acl_roles (name)',
  `create table one_time_token (accessor_id ${TEXT}, secret_hash ${TEXT}, ${ROW}, primary key (accessor_id))`,
  'create index one_time_token_secret on one_time_token (secret_hash)',
];
