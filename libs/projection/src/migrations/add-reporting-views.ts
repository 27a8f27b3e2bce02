import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds views for users' own SQL, which docs/sql.md documents, and a role that can only read them. No view shows a
 * secret. The tables below the views belong to the projector and may change. The schema is not named `waybill`, because
 * a database user with that name would find its views before the tables.
 */
export class AddReportingViews1763708400000 implements MigrationInterface {
  readonly name = 'AddReportingViews1763708400000';

  async up(runner: QueryRunner): Promise<void> {
    await createReportingViews(runner, '');
  }

  /** The role is kept, because other databases of the server may use it. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop schema reporting cascade');
  }
}

/**
 * Converts a number of JSON to an integer within bounds, and null to null. A row whose number fits no type would make a
 * view fail for everybody, and another version may have written the log.
 */
const WHOLE = `create function reporting.whole(number text, most numeric) returns numeric immutable strict language sql
  as $$ select least(greatest(trunc(number::numeric), -most), most) $$`;
const whole = (number: string, most: string): string => `reporting.whole((${number})::text, ${most})`;
const integer = (number: string): string => `${whole(number, '2147483647')}::int`;
const bigint = (number: string): string => `${whole(number, '9223372036854775807')}::bigint`;
/**
 * Converts to a time up to the year 2262, the last one that 64-bit nanoseconds can represent. Seconds are limited too.
 */
const time = (ns: string): string => `to_timestamp(nullif(${whole(ns, '9223372036854775807')}, 0) / 1000000000)`;
const timeOfSeconds = (seconds: string): string => `to_timestamp(nullif(${whole(seconds, '9223372036')}, 0))`;

/** @param cast converts a body to JSON: empty for the type `json`, and a cast since bodies are stored as text */
export async function createReportingViews(runner: QueryRunner, cast: '' | '::json'): Promise<void> {
  await runner.query('create schema reporting');
  await runner.query(WHOLE);
  for (const [view, query] of Object.entries(views(cast)))
    await runner.query(`create view reporting.${view} as ${query}`);
  await runner.query(READER);
}

const views = (cast: '' | '::json') => ({
  jobs: `select namespace, id, body${cast} ->> 'Name' as name, parent_id, type, status, stop, priority, version, node_pool,
      ${time(`body${cast} ->> 'SubmitTime'`)} as submit_time, create_index, modify_index, body::jsonb as body from jobs`,
  job_summaries: `select s.namespace, s.job_id, g.key as task_group, ${integer(`g.value ->> 'Queued'`)} as queued,
      ${integer(`g.value ->> 'Starting'`)} as starting, ${integer(`g.value ->> 'Running'`)} as running,
      ${integer(`g.value ->> 'Complete'`)} as complete, ${integer(`g.value ->> 'Failed'`)} as failed,
      ${integer(`g.value ->> 'Lost'`)} as lost, ${integer(`g.value ->> 'Unknown'`)} as unknown, s.modify_index
    from job_summary s, json_each(s.body${cast} -> 'Summary') g`,
  allocations: `select a.id, a.body${cast} ->> 'Name' as name, a.namespace, a.job_id, j.version as job_version, a.task_group,
      a.node_id, a.body${cast} ->> 'NodeName' as node_name, a.eval_id, a.deployment_id, a.desired_status,
      a.body${cast} ->> 'DesiredDescription' as desired_description, a.client_status,
      a.body${cast} ->> 'ClientDescription' as client_description,
      nullif(a.body${cast} ->> 'PreviousAllocation', '') as previous_allocation,
      nullif(a.body${cast} ->> 'NextAllocation', '') as next_allocation,
      ${time(`a.body${cast} ->> 'CreateTime'`)} as create_time, ${time(`a.body${cast} ->> 'ModifyTime'`)} as modify_time,
      a.create_index, a.modify_index, (a.body::jsonb - 'Job' - 'SignedIdentities') as body
    from allocs a left join alloc_job j on j.namespace = a.namespace and j.job_id = a.job_id and j.key = a.job_key`,
  evaluations: `select id, namespace, job_id, nullif(node_id, '') as node_id, nullif(deployment_id, '') as deployment_id,
      type, triggered_by, status, body${cast} ->> 'StatusDescription' as status_description, priority,
      ${time(`body${cast} ->> 'CreateTime'`)} as create_time, ${time(`body${cast} ->> 'ModifyTime'`)} as modify_time,
      create_index, modify_index, body::jsonb as body from evals`,
  deployments: `select id, namespace, job_id, ${bigint(`body${cast} ->> 'JobVersion'`)} as job_version, status,
      body${cast} ->> 'StatusDescription' as status_description, ${time(`body${cast} ->> 'CreateTime'`)} as create_time,
      ${time(`body${cast} ->> 'ModifyTime'`)} as modify_time, create_index, modify_index, body::jsonb as body from deployment`,
  nodes: `select id, name, datacenter, node_class, node_pool, status, scheduling_eligibility,
      json_typeof(body${cast} -> 'DrainStrategy') = 'object' as draining,
      ${bigint(`body${cast} #>> '{NodeResources,Cpu,CpuShares}'`)} as cpu_mhz,
      ${bigint(`body${cast} #>> '{NodeResources,Memory,MemoryMB}'`)} as memory_mb,
      ${timeOfSeconds(`body${cast} ->> 'StatusUpdatedAt'`)} as status_updated_at,
      create_index, modify_index, (body::jsonb - 'SecretID') as body from nodes`,
  transactions: `select index, ${time('time_ns')} as time, name, namespace, actor ->> 'Kind' as actor_kind,
      actor ->> 'ID' as actor_id, actor ->> 'Name' as actor_name, reason, request_id, nullif(role, '') as role, epoch,
      nullif(split_part(traceparent, '-', 2), '') as trace_id, verdict, error from txn`,
  changes: `select o.index, ${time('t.time_ns')} as time, t.name as transaction, o.kind, o.namespace, o.id, o.op, o.change
    from txn_object o join txn t on t.index = o.index where o.op <> 'none'`,
});

/** If the user may not create roles, an administrator grants the schema to another role. */
const READER = `do $$ begin
  if not exists (select from pg_roles where rolname = 'waybill_reader') then
    begin
      create role waybill_reader nologin;
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then return;
    end;
  end if;
  grant usage on schema reporting to waybill_reader;
  grant select on all tables in schema reporting to waybill_reader;
end $$`;
