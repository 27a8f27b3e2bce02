import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the end of EVENTS at the last write of PostgreSQL. A stream that ends before it has lost its end (EV-60). */
export class AddFramed1763773200000 implements MigrationInterface {
  readonly name = 'AddFramed1763773200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table projection add column framed bigint not null default 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table projection drop column framed');
  }
}
