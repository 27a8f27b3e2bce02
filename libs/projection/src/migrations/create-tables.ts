import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates the first tables. A migration is never edited after its release; the next change is a new class. */
export class CreateTables1763690000000 implements MigrationInterface {
  readonly name = 'CreateTables1763690000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES) await runner.query(`drop table "${table}"`);
  }
}

const TABLES = [
  'jobs',
  'job_version',
  'job_submission',
  'job_summary',
  'evals',
  'allocs',
  'alloc_job',
  'deployment',
  'nodes',
  'node_pools',
  'namespaces',
  'service_registrations',
  'scheduler_config',
  'cluster_meta',
  'leases',
  'txn',
  'table_index',
  'projection',
];

/** Byte order, so that a primary key also serves prefix searches and lists in the state's own order. */
const TEXT = 'text collate "C" not null';
const INDEXES = 'create_index bigint not null, modify_index bigint not null';
/** json instead of jsonb, because it keeps the text and the order of members, and is cheaper to write. */
const BODY = 'body json not null';
/**
 * Leaves room in every page for the next version of a row. An update without a change of an indexed column then touches
 * no index.
 */
const UPDATED_OFTEN = 'with (fillfactor = 75)';
/**
 * Allocations have a few KB, so a page has room for one and its next version. They stay uncompressed if they fit,
 * because compression takes PostgreSQL as long as the rest of a write, and every report of an agent writes them again.
 */
const LARGE_UPDATED_OFTEN = 'with (fillfactor = 50, toast_tuple_target = 8160)';

const UP = [
  `create table jobs (
     namespace ${TEXT}, id ${TEXT}, parent_id ${TEXT}, type ${TEXT}, status ${TEXT}, node_pool ${TEXT},
     stop boolean not null, priority integer not null, version bigint not null, job_modify_index bigint not null,
     ${INDEXES}, ${BODY}, primary key (namespace, id)) ${UPDATED_OFTEN}`,
  `create index jobs_parent on jobs (namespace, parent_id)`,

  `create table job_version (
     namespace ${TEXT}, job_id ${TEXT}, version bigint not null, job_modify_index bigint not null,
     ${INDEXES}, ${BODY}, primary key (namespace, job_id, version))`,

  `create table job_submission (
     namespace ${TEXT}, job_id ${TEXT}, version bigint not null, job_modify_index bigint not null,
     ${BODY}, primary key (namespace, job_id, version))`,

  `create table job_summary (
     namespace ${TEXT}, job_id ${TEXT}, ${INDEXES}, ${BODY}, primary key (namespace, job_id)) ${UPDATED_OFTEN}`,

  `create table evals (
     id ${TEXT}, namespace ${TEXT}, job_id ${TEXT}, node_id ${TEXT}, deployment_id ${TEXT}, type ${TEXT},
     status ${TEXT}, triggered_by ${TEXT}, priority integer not null, ${INDEXES}, ${BODY}, primary key (id)) ${UPDATED_OFTEN}`,
  `create index evals_created on evals (create_index, id)`,
  `create index evals_job on evals (namespace, job_id)`,

  `create table allocs (
     id ${TEXT}, namespace ${TEXT}, job_id ${TEXT}, task_group ${TEXT}, node_id ${TEXT}, eval_id ${TEXT},
     deployment_id ${TEXT}, desired_status ${TEXT}, client_status ${TEXT}, job_key ${TEXT}, alloc_modify_index bigint not null,
     ${INDEXES}, ${BODY}, primary key (id)) ${LARGE_UPDATED_OFTEN}`,
  `create index allocs_created on allocs (create_index, id)`,
  `create index allocs_job on allocs (namespace, job_id)`,
  `create index allocs_node on allocs (node_id)`,
  `create index allocs_eval on allocs (eval_id)`,
  `create index allocs_deployment on allocs (deployment_id)`,

  `create table alloc_job (
     namespace ${TEXT}, job_id ${TEXT}, key ${TEXT}, version bigint not null, ${BODY},
     primary key (namespace, job_id, key))`,

  `create table deployment (
     id ${TEXT}, namespace ${TEXT}, job_id ${TEXT}, status ${TEXT}, ${INDEXES}, ${BODY}, primary key (id)) ${UPDATED_OFTEN}`,
  `create index deployment_created on deployment (create_index, id)`,
  `create index deployment_job on deployment (namespace, job_id)`,

  `create table nodes (
     id ${TEXT}, name ${TEXT}, datacenter ${TEXT}, node_class ${TEXT}, node_pool ${TEXT}, status ${TEXT},
     scheduling_eligibility ${TEXT}, ${INDEXES}, ${BODY}, primary key (id)) ${UPDATED_OFTEN}`,

  `create table node_pools (name ${TEXT}, ${INDEXES}, ${BODY}, primary key (name))`,
  `create table namespaces (name ${TEXT}, ${INDEXES}, ${BODY}, primary key (name))`,

  `create table service_registrations (
     namespace ${TEXT}, id ${TEXT}, service_name ${TEXT}, job_id ${TEXT}, alloc_id ${TEXT}, node_id ${TEXT},
     ${INDEXES}, ${BODY}, primary key (namespace, id))`,
  `create index service_registrations_name on service_registrations (namespace, service_name)`,
  `create index service_registrations_alloc on service_registrations (alloc_id)`,

  `create table scheduler_config (id ${TEXT}, ${INDEXES}, ${BODY}, primary key (id))`,
  `create table cluster_meta (id ${TEXT}, modify_index bigint not null, ${BODY}, primary key (id))`,
  `create table leases (
     role ${TEXT}, epoch bigint not null, holder ${TEXT}, modify_index bigint not null, ${BODY}, primary key (role))`,

  `create table txn (
     index bigint not null, type integer not null, name ${TEXT}, time_ns bigint not null, region ${TEXT},
     namespace ${TEXT}, actor json not null, reason ${TEXT}, request_id ${TEXT}, role ${TEXT}, epoch bigint not null,
     traceparent ${TEXT}, schema_version integer not null, verdict ${TEXT}, error text collate "C", result json,
     primary key (index))`,
  `create index txn_time on txn (time_ns)`,

  `create table table_index (name ${TEXT}, index bigint not null, primary key (name))`,

  `create table projection (
     id integer not null, applied bigint not null, applied_at timestamp with time zone not null, primary key (id))`,
  `insert into projection (id, applied, applied_at) values (1, 0, now())`,
];
