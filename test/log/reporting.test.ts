import { readFileSync } from 'node:fs';
import type { Stack } from '@waybill/embedded';
import { BatchWriter, openPool } from '@waybill/projection';
import { fixtures, StateMachine } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startMigratedStack } from '../support/begun-databases.js';

const SEED = 99;
const QUERIES = [
  ...readFileSync(new URL('../../docs/sql.md', import.meta.url), 'utf8').matchAll(/^```sql\n(.*?)^```/gms),
].map((match) => match[1]!);
const VIEWS = [
  'jobs',
  'job_summaries',
  'allocations',
  'evaluations',
  'deployments',
  'nodes',
  'transactions',
  'changes',
];

describe('SQL of one’s own (docs/sql.md)', () => {
  let stack: Stack;
  let pool: Pool;
  let reader: PoolClient;
  const machine = new StateMachine();

  beforeAll(async () => {
    stack = await startMigratedStack();
    pool = openPool(stack.databaseUrl);
    const writer = new BatchWriter(pool);
    // In the last minutes, so that the queries about today find something.
    const begun = Date.now() - 600_000;
    const txns = fixtures.aRandomLog(SEED, 500).map((txn) => ({ ...txn, timeNs: (begun + txn.index * 1_000) * 1e6 }));
    for (let at = 0; at < txns.length; at += 50)
      await writer.write(txns.slice(at, at + 50).map((txn) => machine.apply(txn)));
    reader = await pool.connect();
    await reader.query('set role waybill_reader');
  });
  afterAll(async () => {
    reader?.release(true);
    await pool?.end();
    await stack?.stop();
  });

  it('has ten queries that the read-only role may run', async () => {
    expect(QUERIES).toHaveLength(10);
    const rows = new Map<string, number>();
    for (const query of QUERIES) rows.set(query, (await reader.query(query)).rows.length);
    // The random log has no failed task or finished deployment to be found by time; all others find something.
    expect([...rows.values()].filter((count) => count > 0).length).toBeGreaterThanOrEqual(7);
  });

  it('every view shows every row, and no secret', async () => {
    const count = async (view: string): Promise<number> =>
      Number((await reader.query<{ n: string }>(`select count(*) as n from reporting.${view}`)).rows[0]!.n);
    const { jobs, allocs, evals, deployment, nodes } = machine.tables;
    expect(await count('jobs')).toBe(jobs.size);
    expect(await count('allocations')).toBe(allocs.size);
    expect(await count('evaluations')).toBe(evals.size);
    expect(await count('deployments')).toBe(deployment.size);
    expect(await count('nodes')).toBe(nodes.size);
    expect(await count('transactions')).toBe(500);
    const secrets = [...nodes.entries()].map(([, node]) => node.SecretID);
    expect(secrets.length).toBeGreaterThan(0);
    for (const view of VIEWS) {
      const { rows } = await reader.query(`select * from reporting.${view}`);
      expect(rows.length, view).toBeGreaterThan(0);
      const text = JSON.stringify(rows);
      for (const secret of secrets) expect(text.includes(secret), `${view} shows a secret`).toBe(false);
    }
  });

  it('the role reads the views and nothing else, and writes nothing', async () => {
    for (const statement of [
      'select * from nodes',
      'select * from txn',
      'select undo from txn_object',
      `update reporting.jobs set status = 'dead'`,
      'delete from reporting.transactions',
      'create table reporting.mine (id int)',
    ])
      await expect(reader.query(statement), statement).rejects.toThrow(/permission denied/);
  });
});
