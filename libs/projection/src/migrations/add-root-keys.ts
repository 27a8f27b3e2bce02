import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds root keys of the keyring: public parts and metadata in clear text, and the wrapped private parts in the body.
 */
export class AddRootKeys1763766000000 implements MigrationInterface {
  readonly name = 'AddRootKeys1763766000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table root_keys (key_id text collate "C" not null, state text collate "C" not null,
         create_time bigint not null, create_index bigint not null, modify_index bigint not null,
         body varchar not null, primary key (key_id))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table root_keys');
  }
}
