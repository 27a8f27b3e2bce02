import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the changes of every transaction to objects, and the first index with a history (API-264 to API-268). */
export class AddHistory1763704800000 implements MigrationInterface {
  readonly name = 'AddHistory1763704800000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table projection drop column history_floor`);
    await runner.query(`drop index txn_trace`);
    await runner.query(`drop table txn_object`);
  }
}

const TEXT = 'text collate "C" not null';

const UP = [
  `create table txn_object (
     index bigint not null, kind ${TEXT}, namespace ${TEXT}, id ${TEXT}, op ${TEXT}, change ${TEXT}, job_key ${TEXT},
     undo json, primary key (index, kind, namespace, id))`,
  `create index txn_object_history on txn_object (kind, id, index)`,
  `create index txn_object_job_key on txn_object (job_key) where job_key <> ''`,
  // The trace ID comes first whether the trace is sampled or not, so a prefix finds it.
  `create index txn_trace on txn (traceparent) where traceparent <> ''`,
  // Changes of transactions that were projected before were not recorded.
  `alter table projection add column history_floor bigint not null default 1`,
  `update projection set history_floor = applied + 1`,
];
