import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds variables. Their bodies contain the sealed items. */
export class AddVariables1763769600000 implements MigrationInterface {
  readonly name = 'AddVariables1763769600000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table variables');
  }
}

const TEXT = 'text collate "C" not null';
const ROW = 'create_index bigint not null, modify_index bigint not null, body varchar not null';

const UP = [
  `create table variables (namespace ${TEXT}, path ${TEXT}, key_id ${TEXT}, ${ROW}, primary key (namespace, path))`,
  'create index variables_root_key on variables (key_id)',
];
