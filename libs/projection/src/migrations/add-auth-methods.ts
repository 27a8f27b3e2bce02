import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds auth methods and binding rules. The body of a method contains its secrets, sealed. */
export class AddAuthMethods1763762400000 implements MigrationInterface {
  readonly name = 'AddAuthMethods1763762400000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['acl_auth_methods', 'acl_binding_rules']) await runner.query(`drop table ${table}`);
  }
}

const TEXT = 'text collate "C" not null';
const ROW = 'create_index bigint not null, modify_index bigint not null, body varchar not null';

const UP = [
  `create table acl_auth_methods (name ${TEXT}, is_default boolean not null, ${ROW}, primary key (name))`,
  `create table acl_binding_rules (id ${TEXT}, auth_method ${TEXT}, ${ROW}, primary key (id))`,
  'create index acl_binding_rules_method on acl_binding_rules (auth_method)',
];
