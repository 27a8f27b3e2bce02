import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the introduction tokens that nodes have used. */
export class AddNodeIntroductions1763776800000 implements MigrationInterface {
  readonly name = 'AddNodeIntroductions1763776800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table node_introductions (token_id text collate "C" not null, create_index bigint not null,
         modify_index bigint not null, body varchar not null, primary key (token_id))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table node_introductions');
  }
}
