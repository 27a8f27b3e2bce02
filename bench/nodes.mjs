import { randomUUID } from 'node:crypto';
import { DEFAULT_PACE, nodesService } from '@waybill/nodes';
import { heartbeat, NatsRpc, updateAllocs } from '@waybill/rpc';
import { Infrastructure, readSettings, RunningService, systemClock } from '@waybill/service';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import pg from 'pg';
import { publisher } from './evaluation-load.mjs';
import { ServiceProcesses, until } from './processes.mjs';
import { fleetOf } from './simulated-machines.mjs';

export const describe = 'simulated machines: registration, heartbeats, allocation updates, losing many at once';

const NODES = 5_000;
const START_PER_SECOND = 5_000;
/** Heartbeats are watched this long. */
const WATCHED_MS = 20_000;
const ALLOCS_PER_NODE = 4;
/** Machines that report at the same time. */
const REPORTING_AT_ONCE = 1_000;
const ALLOCS_PER_PLAN = 500;

const LOST_NODES = 500;
const JOBS = 10;
/** A new holder gives every node this long; the machines are silent, so all are lost in the same moment. */
const FAILOVER_MS = 6_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  await manyNodes(ctx);
  await massLoss(ctx);
  ctx.note(
    `${NODES} machines in the benchmark's process, started at ${START_PER_SECOND} per second, ready at the first heartbeat`,
  );
  ctx.note(
    `heartbeats: CPU of the nodes service over ${WATCHED_MS / 1_000} s, with the reads that wait for allocations`,
  );
  ctx.note(
    `updates: ${ALLOCS_PER_NODE} per request, ${REPORTING_AT_ONCE} machines at a time; until Postgres has the last`,
  );
  ctx.note(
    `loss: ${LOST_NODES} nodes with allocations of ${JOBS} jobs, whose deadlines pass at once; until the last evaluation is applied`,
  );
}

/** @param {import('./harness.mjs').Bench} ctx */
async function manyNodes(ctx) {
  const cluster = await ServiceProcesses.start(ctx);
  await Promise.all(['projector', 'nodes'].map((service) => cluster.add(service)));
  await until('nodes holds its role', async () => (await cluster.roleOf('nodes')).startsWith('holder'));
  const database = new pg.Pool({ connectionString: cluster.stack.databaseUrl, max: 1 });
  ctx.onEnd(() => database.end());
  /** @param {string} text @returns {Promise<number>} */
  const number = async (text) => Number((await database.query(text)).rows[0].n);
  const lastIndex = async () => (await cluster.journal.bounds()).last;

  const rpc = new NatsRpc(cluster.link.nc);
  const fleet = fleetOf(rpc, { nodes: NODES, startPerSecond: START_PER_SECOND });
  ctx.onEnd(() => fleet.stop());
  const registering = await ctx.time(async () => {
    fleet.start();
    await until('all are registered', () => fleet.stats().registered === NODES);
  });
  ctx.metric('registerSeconds', registering / 1_000, { unit: 's', goal: { below: 20 } });
  const isReady = `select count(*) as n from nodes where status = 'ready'`;
  await until('all are ready', async () => (await number(isReady)) === NODES);

  const before = { index: await lastIndex(), cpu: cluster.cpuSeconds('nodes') };
  await new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
  const cores = ((cluster.cpuSeconds('nodes') - before.cpu) * 1_000) / WATCHED_MS;
  ctx.metric('heartbeatCores', cores, { unit: 'cores', goal: { below: 0.25 } });
  ctx.metric('heartbeatTxns', (await lastIndex()) - before.index, { unit: 'txn', goal: { below: 1 } });

  await fleet.stop(); // from here on the benchmark speaks for them
  for (const { node } of fleet.members)
    await rpc.ask(heartbeat, { NodeID: node.ID, SecretID: node.SecretID, Status: 'ready' });
  const allocs = await placed(
    cluster.journal,
    fleet.members.map(({ node }) => node.ID),
    ALLOCS_PER_NODE,
  );
  await until(
    'the allocations are projected',
    async () => (await number('select count(*) as n from allocs')) === NODES * ALLOCS_PER_NODE,
  );
  const services = /** @type {const} */ (['nodes', 'projector']);
  const used = services.map((service) => cluster.cpuSeconds(service));
  let updates = 0;
  await ctx.measure('updatesPerSecond', { unit: 'updates/s', runs: 3, goal: { atLeast: 10_000 } }, async (round) => {
    const ms = await ctx.time(async () => {
      const last = await reported(rpc, fleet.members, allocs, round);
      await until('Postgres has the last', async () => (await number('select applied as n from projection')) >= last);
    });
    updates += NODES * ALLOCS_PER_NODE;
    return (NODES * ALLOCS_PER_NODE * 1_000) / ms;
  });
  for (const [i, service] of services.entries())
    ctx.metric(`${service}UpdateMicros`, ((cluster.cpuSeconds(service) - (used[i] ?? 0)) * 1e6) / updates, {
      unit: 'µs of CPU per update',
    });
}

/**
 * Every machine reports all its allocations, once. The index of the last report.
 *
 * @param {NatsRpc} rpc
 * @param {readonly import('@waybill/agent').FleetMember[]} members
 * @param {ReadonlyMap<string, readonly import('@waybill/model').Allocation[]>} allocs by node
 * @param {number} round
 */
async function reported(rpc, members, allocs, round) {
  let last = 0;
  const waiting = [...members];
  const reporter = async () => {
    for (let member = waiting.pop(); member; member = waiting.pop()) {
      const { ID: NodeID, SecretID } = member.node;
      const Allocs = (allocs.get(NodeID) ?? []).map((alloc) =>
        fixtures.aClientUpdate(alloc, { ClientStatus: 'running', ClientDescription: `round ${round}` }),
      );
      last = Math.max(last, (await rpc.ask(updateAllocs, { NodeID, SecretID, Allocs }, { timeoutMs: 30_000 })).Index);
    }
  };
  await Promise.all(Array.from({ length: REPORTING_AT_ONCE }, reporter));
  return last;
}

/** @param {import('./harness.mjs').Bench} ctx */
async function massLoss(ctx) {
  const cluster = await ServiceProcesses.start(ctx);
  const settings = readSettings({ WAYBILL_NATS_URL: cluster.stack.natsUrl, WAYBILL_LOG_LEVEL: 'silent' }, []);
  const infrastructure = new Infrastructure({
    processName: 'bench',
    settings,
    logger: silentLogger,
    onFatal: (error) => {
      throw error;
    },
  });
  ctx.onEnd(() => infrastructure.close());
  const pace = { ...DEFAULT_PACE, minTtlMs: 600_000, failoverTtlMs: FAILOVER_MS };
  const holder = () => RunningService.start(nodesService(pace), settings, infrastructure);
  const first = await holder();
  const fleet = fleetOf(new NatsRpc(cluster.link.nc), { nodes: LOST_NODES, startPerSecond: START_PER_SECOND });
  ctx.onEnd(() => fleet.stop());
  fleet.start();
  const state = await infrastructure.replica();
  const nodes = () => [...state.tables.nodes.all()];
  await until('all are ready', () => nodes().filter((node) => node.Status === 'ready').length === LOST_NODES);
  await fleet.stop();
  await placed(
    cluster.journal,
    nodes().map((node) => node.ID),
    JOBS,
  );
  await first.stop();

  let began = 0;
  /** @type {(value: number) => void} */
  let evaluated = () => {};
  const all = new Promise((resolve) => (evaluated = resolve));
  let evaluations = 0;
  state.onApplied(({ txn, changes }) => {
    if (txn.type === 'NodeUpdateStatus' && began === 0) began = txn.timeNs / 1e6;
    for (const { table, before } of changes) if (table === 'evals' && !before) evaluations += 1;
    if (evaluations === LOST_NODES * JOBS) evaluated(systemClock.nowMs() - began);
  });
  const second = await holder();
  ctx.onEnd(() => second.stop());
  ctx.metric('massLossSeconds', (await all) / 1_000, { unit: 's', goal: { below: 2 } });
}

/**
 * As many allocations on each of these nodes as there are jobs, one of each job, written as plans. By node.
 *
 * @param {import('@waybill/journal').Journal} journal
 * @param {readonly string[]} nodeIds
 * @param {number} jobs
 */
async function placed(journal, nodeIds, jobs) {
  const write = publisher(journal);
  /** @type {Map<string, import('@waybill/model').Allocation[]>} */
  const byNode = new Map(nodeIds.map((id) => [id, []]));
  for (let number = 0; number < jobs; number += 1) {
    const job = fixtures.aJob({ ID: `job-${number}` });
    const { index } = await write('JobRegister', fixtures.aRegistration(job));
    const evaluation = fixtures.anEval({ ID: randomUUID(), JobID: job.ID, Type: job.Type });
    await write('EvalUpdate', { Evals: [evaluation] });
    const stored = { ...job, CreateIndex: index, ModifyIndex: index, JobModifyIndex: index };
    const allocs = nodeIds.map((NodeID) => {
      const alloc = fixtures.anAlloc({ ID: randomUUID(), Job: stored, NodeID, EvalID: evaluation.ID });
      byNode.get(NodeID)?.push(alloc);
      return alloc;
    });
    for (let at = 0; at < allocs.length; at += ALLOCS_PER_PLAN)
      await write(
        'ApplyPlanResults',
        fixtures.aPlanResult({
          Job: stored,
          AllocsUpdated: allocs.slice(at, at + ALLOCS_PER_PLAN),
          EvalID: evaluation.ID,
        }),
      );
  }
  return byNode;
}
