// What access control costs: the same reads on two API servers of one cluster, one of which asks who the caller is.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { fixtures } from '@waybill/state';
import { inFlight, publisher } from './evaluation-load.mjs';
import { percentile } from './harness.mjs';
import { Client } from './http-client.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe =
  'access control: reads with 10,000 tokens and 1,000 policies, a list of which a seventh is shown';

const TOKENS = 10_000;
const POLICIES = 1_000;
/** Policies of a token, besides the one that lets it read. */
const POLICIES_PER_TOKEN = 3;
const NAMESPACES = 100;
const SHOWN_NAMESPACES = 7;
const ALLOCS_PER_NAMESPACE = 100;
/** Writes that are under way at once. */
const WRITERS = 32;
/** Tokens that are in use. */
const ACTIVE = 500;
const READS = 3_000;
const LISTS = 60;

const SHOWN = SHOWN_NAMESPACES * ALLOCS_PER_NAMESPACE;
/** @param {number} n */
const namespaceName = (n) => `team-${n}`;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  await processes.add('projector');
  const open = await apiServer(ctx, processes, 'open', {});
  const guarded = await apiServer(ctx, processes, 'guarded', {
    WAYBILL_ACL_ENABLED: 'true',
    WAYBILL_ACL_KEY_FILE: keyFile(ctx),
  });

  ctx.log(`${NAMESPACES * ALLOCS_PER_NAMESPACE + SHOWN} allocations`);
  const ids = await placed(processes);
  const allocationsOf = async (/** @type {string} */ namespace) =>
    JSON.parse((await open.ask(`/v1/allocations?namespace=${namespace}`)).toString()).length;
  await until('they are projected', async () => (await allocationsOf('alone')) === SHOWN);
  ctx.log(`${POLICIES} policies, ${TOKENS} tokens`);
  const { management, readers, some } = await manyTokens(guarded);

  await reads(ctx, open, guarded, readers, ids);
  await lists(ctx, guarded, some, management);
  ctx.note(
    `reads are of single allocations, by ${ACTIVE} tokens in turn, each read with and without access control; firstRead: the first one of each token`,
  );
  ctx.note(
    `the list has ${SHOWN} of ${NAMESPACES * ALLOCS_PER_NAMESPACE} allocations, compared with all ${SHOWN} of one namespace`,
  );
}

/** @param {import('./harness.mjs').Bench} ctx */
function keyFile(ctx) {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-bench-acl-'));
  ctx.onEnd(() => rmSync(dir, { recursive: true }));
  const file = path.join(dir, 'key');
  writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return file;
}

/**
 * @param {import('./harness.mjs').Bench} ctx @param {ServiceProcesses} processes @param {string} name
 * @param {NodeJS.ProcessEnv} env
 */
async function apiServer(ctx, processes, name, env) {
  const port = await freePort();
  await processes.add('api', name, {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0',
    ...env,
  });
  const client = new Client(port);
  ctx.onEnd(() => client.stop());
  return client;
}

/** @param {string} secret */
const as = (secret) => ({ 'X-Nomad-Token': secret });

/** @param {Client} guarded */
async function manyTokens(guarded) {
  const put = async (/** @type {string} */ url, /** @type {unknown} */ body, /** @type {string} */ secret = '') =>
    JSON.parse(
      (await guarded.ask(url, { method: 'PUT', body: JSON.stringify(body), headers: as(secret) })).toString() || 'null',
    );
  const { SecretID: management } = await put('/v1/acl/bootstrap', {});
  const policy = (/** @type {string} */ Name, /** @type {string} */ Rules) =>
    put(`/v1/acl/policy/${Name}`, { Name, Rules }, management);
  const token = async (/** @type {string[]} */ Policies) =>
    (await put('/v1/acl/token', { Name: 'bench', Type: 'client', Policies }, management)).SecretID;
  const read = (/** @type {string} */ namespace) => `namespace "${namespace}" { policy = "read" }\n`;
  await policy('reader', read('alone'));
  await policy('some', Array.from({ length: SHOWN_NAMESPACES }, (_, n) => read(namespaceName(n))).join(''));
  const names = Array.from({ length: POLICIES }, (_, n) => `policy-${n}`);
  await inFlight(names, (name) => policy(name, `${read(`${name}-*`)}node { policy = "read" }`), WRITERS);
  /** @type {string[]} */
  const readers = [];
  await inFlight(
    Array.from({ length: TOKENS }, (_, n) => n),
    async (n) => {
      const some = Array.from({ length: POLICIES_PER_TOKEN }, (_, i) => names[(n * 7 + i * 131) % POLICIES] ?? '');
      readers.push(await token(['reader', ...some]));
    },
    WRITERS,
  );
  return { management, readers, some: await token(['some']) };
}

/**
 * @param {import('./harness.mjs').Bench} ctx @param {Client} open @param {Client} guarded @param {string[]} readers
 * @param {string[]} ids
 */
async function reads(ctx, open, guarded, readers, ids) {
  /** @type {[number[], number[]]} */
  const [off, on] = [[], []];
  /** @type {number[]} */
  const first = [];
  const url = (/** @type {number} */ n) => `/v1/allocation/${ids[n % ids.length]}?namespace=alone`;
  const secret = (/** @type {number} */ n) => readers[(n % ACTIVE) * (TOKENS / ACTIVE)] ?? '';
  for (let n = 0; n < ACTIVE; n++) first.push(await guarded.timeOf(url(n), as(secret(n))));
  ctx.metric('firstReadP50Ms', percentile(first, 50), { unit: 'ms' });
  for (let n = 0; n < READS; n++) {
    off.push(await open.timeOf(url(n)));
    on.push(await guarded.timeOf(url(n), as(secret(n))));
  }
  for (const [name, percent, below] of /** @type {const} */ ([
    ['P50', 50, 1.05],
    ['P99', 99, 1.1],
  ])) {
    ctx.metric(`readOff${name}Ms`, percentile(off, percent), { unit: 'ms' });
    ctx.metric(`readOn${name}Ms`, percentile(on, percent), { unit: 'ms' });
    ctx.metric(`aclReadOverhead${name}`, percentile(on, percent) / percentile(off, percent), { goal: { below } });
  }
}

/** @param {import('./harness.mjs').Bench} ctx @param {Client} guarded @param {string} some @param {string} management */
async function lists(ctx, guarded, some, management) {
  /** @type {[number[], number[]]} */
  const [filtered, whole] = [[], []];
  for (let n = 0; n < LISTS * 2; n++) {
    // Another question each time: an answer that is kept would be measured instead of the statement.
    const filter = encodeURIComponent(`ClientStatus == "running" and ID != "${randomUUID()}"`);
    if (n % 2 === 0) filtered.push(await guarded.timeOf(`/v1/allocations?namespace=*&filter=${filter}`, as(some)));
    else whole.push(await guarded.timeOf(`/v1/allocations?namespace=alone&filter=${filter}`, as(management)));
  }
  ctx.metric('filteredListP50Ms', percentile(filtered, 50), { unit: 'ms' });
  ctx.metric('wholeListP50Ms', percentile(whole, 50), { unit: 'ms' });
  ctx.metric('aclListCost', percentile(filtered, 50) / percentile(whole, 50), { goal: { below: 1.3 } });
}

/**
 * ALLOCS_PER_NAMESPACE allocations in each of many namespaces, and as many as a caller sees of them in one, `alone`.
 * @param {ServiceProcesses} processes @returns {Promise<string[]>} IDs of the last
 */
async function placed({ journal }) {
  const publish = publisher(journal);
  const spread = Array.from({ length: NAMESPACES }, (_, n) => ({
    namespace: namespaceName(n),
    count: ALLOCS_PER_NAMESPACE,
  }));
  const all = [...spread, { namespace: 'alone', count: SHOWN }];
  await publish('NamespaceUpsert', {
    Namespaces: all.map(({ namespace }) => fixtures.aNamespace({ Name: namespace })),
  });
  /** @type {string[]} */
  let ids = [];
  for (const { namespace, count } of all) {
    const job = fixtures.aJob({ ID: 'web', Namespace: namespace });
    const Eval = fixtures.anEval({ ID: randomUUID(), JobID: 'web', Namespace: namespace });
    const { index } = await publish('JobRegister', { ...fixtures.aRegistration(job), Eval });
    const stored = { ...job, CreateIndex: index, ModifyIndex: index, JobModifyIndex: index };
    ids = Array.from({ length: count }, () => randomUUID());
    const AllocsUpdated = ids.map((ID) =>
      fixtures.anAlloc({
        ID,
        Namespace: namespace,
        JobID: 'web',
        EvalID: Eval.ID,
        Job: stored,
        NodeID: randomUUID(),
        ClientStatus: 'running',
      }),
    );
    await publish('ApplyPlanResults', fixtures.aPlanResult({ Job: stored, EvalID: Eval.ID, AllocsUpdated }));
  }
  return ids;
}
