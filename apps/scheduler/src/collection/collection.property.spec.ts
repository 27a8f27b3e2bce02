import {
  type AllocClientStatus,
  type DeploymentStatus,
  type EvalStatus,
  isActiveDeployment,
  isBatchJob,
  isTerminalAllocation,
  isTerminalEvaluation,
  type Job,
  type NodeStatus,
} from '@waybill/model';
import { deriveJobStatus, namespacedKey } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../seeded-random.js';
import { CollectingFixture, HOUR_MS } from './collecting.fixture.js';

const SEEDS = 300;
const JOBS = ['a', 'b', 'c', 'd'] as const;
const NODES = ['n1', 'n2', 'n3'] as const;
const DEPLOYMENTS = ['d1', 'd2'] as const;
const TYPES = ['service', 'batch', 'system', 'sysbatch'] as const;
const EVAL_STATUSES: readonly EvalStatus[] = ['pending', 'blocked', 'complete', 'complete', 'failed', 'canceled'];
const CLIENT_STATUSES: readonly AllocClientStatus[] = [
  'pending',
  'running',
  'complete',
  'complete',
  'failed',
  'lost',
  'unknown',
];
const DEPLOYMENT_STATUSES: readonly DeploymentStatus[] = ['running', 'failed', 'successful', 'blocked', 'cancelled'];
const NODE_STATUSES: readonly NodeStatus[] = ['ready', 'down', 'down', 'disconnected', 'initializing'];

/** Records of few jobs, machines and deployments in any state, so that they meet. */
function worldOf(seed: number): CollectingFixture {
  const numbers = new SeededRandom(BigInt(seed));
  const below = (n: number): number => Math.floor(numbers.next() * n);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const world = new CollectingFixture();
  const ModifyTime = world.ago(pick([HOUR_MS, 30 * HOUR_MS]));
  for (const ID of JOBS) {
    if (below(5) === 0) continue;
    const VersionTag = below(6) === 0 ? { Name: 'gold', Description: '', TaggedTime: 0 } : null;
    const over = { Type: pick(TYPES), Stop: below(2) === 0 };
    world.job({ ID, ...over, VersionTag, JobModifyIndex: 5, SubmitTime: ModifyTime });
  }
  const evals = Array.from({ length: 1 + below(12) }, () => {
    const ID = pick(JOBS);
    const Type = world.tables.jobs.get(`default/${ID}`)?.Type ?? 'service';
    return world.evaluation({ ID, Type }, { Status: pick(EVAL_STATUSES), ModifyTime });
  });
  for (let n = below(25); n > 0; n--)
    world.alloc(pick(evals), {
      NodeID: pick(NODES),
      DeploymentID: pick(['', ...DEPLOYMENTS]),
      ClientStatus: pick(CLIENT_STATUSES),
      DesiredStatus: pick(['run', 'stop']),
      CreateIndex: pick([1, 9]),
      ModifyTime,
    });
  for (const ID of DEPLOYMENTS)
    if (below(3) > 0) world.deployment({ ID, JobID: pick(JOBS), Status: pick(DEPLOYMENT_STATUSES), ModifyTime });
  for (const ID of NODES)
    if (below(4) > 0) world.node({ ID, Status: pick(NODE_STATUSES), StatusUpdatedAt: ModifyTime / 1e9 });
  for (const job of world.tables.jobs.all()) world.job({ ...job, Status: deriveJobStatus(world.tables, job) });
  return world;
}

/** Section 3.15: keys of everything that no collection may take, as `table/key`. */
function mustSurvive({ tables }: CollectingFixture): string[] {
  const kept: string[] = [];
  for (const [key, row] of tables.evals.entries()) if (!isTerminalEvaluation(row)) kept.push(`evals/${key}`);
  for (const [key, row] of tables.allocs.entries())
    if (!isTerminalAllocation(row) || row.ClientStatus === 'running') kept.push(`allocs/${key}`);
  for (const [key, row] of tables.jobs.entries()) if (isNeeded(row)) kept.push(`jobs/${key}`);
  for (const [key, row] of tables.allocs.entries()) if (isPresentResult(tables.jobs, row)) kept.push(`allocs/${key}`);
  for (const [key, row] of tables.deployment.entries())
    if (isActiveDeployment(row) && !tables.jobs.has(namespacedKey(row.Namespace, row.JobID)))
      kept.push(`deployment/${key}`);
  for (const [key, row] of tables.nodes.entries())
    if (row.Status !== 'down' || [...tables.allocs.by('node', key)].some((a) => !isTerminalAllocation(a)))
      kept.push(`nodes/${key}`);
  return kept;
}

const isNeeded = (row: Job): boolean =>
  row.Status !== 'dead' || row.VersionTag !== null || (!row.Stop && (row.Type === 'service' || row.Type === 'system'));

/** GC-100: what the present version of a batch job that is not over has done. */
const isPresentResult = (
  jobs: CollectingFixture['tables']['jobs'],
  alloc: { Namespace: string; JobID: string; CreateIndex: number },
): boolean => {
  const row = jobs.get(namespacedKey(alloc.Namespace, alloc.JobID));
  return row !== undefined && isBatchJob(row) && row.Status !== 'dead' && alloc.CreateIndex >= row.JobModifyIndex;
};

describe('any history, collected by force', () => {
  it('GC-91 GC-98 GC-99 GC-100 GC-101 GC-103 GC-104, ST-167: nothing that must survive goes, and what the first run saw is not left to a second', async () => {
    let collected = 0;
    for (let seed = 0; seed < SEEDS; seed++) {
      const world = worldOf(seed);
      const kept = mustSurvive(world);
      await world.run('force-gc', { limits: { ids: 3, jobs: 2, volumes: 2 } });
      collected += world.reaps.length;
      const lost = kept.filter((name) => {
        const [table = '', ...key] = name.split('/');
        return !world.tables[table as 'jobs'].has(key.join('/'));
      });
      expect([seed, lost]).toEqual([seed, []]);
      const orphans = [...world.tables.allocs.all()].filter(({ EvalID }) => !world.tables.evals.has(EvalID));
      expect([seed, orphans]).toEqual([seed, []]);
      const first = world.reaps.length;
      await world.run('force-gc');
      expect([seed, world.reaps.slice(first)]).toEqual([seed, []]);
    }
    expect(collected).toBeGreaterThan(SEEDS);
  });
});
