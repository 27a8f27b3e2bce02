// What a secret costs: writing and reading one variable over HTTP, listing very many, and encrypting them all anew.
import { randomBytes } from 'node:crypto';
import { AeadWrapper, Keyring, newRootKey } from '@waybill/keyring';
import { freePort } from '@waybill/embedded';
import { inFlight, publisher } from './evaluation-load.mjs';
import { percentile } from './harness.mjs';
import { Client } from './http-client.mjs';
import { measureSigning } from './identities.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe =
  'variables: put and get of one with four items, 100,000 listed by prefix, reads during a rotation';

const VARIABLES = 100_000;
const WRITES = 500;
const READS = 3_000;
const LISTS = 5;
const PAGES = 200;
const PAGE = 100;
/** Encrypting all variables anew takes 17 minutes at 100 a second (GC-86), so the benchmark watches its beginning. */
const READS_DURING_ROTATION = 10_000;
const PROJECTED_DEADLINE_MS = 300_000;
const ROOT_KEY = 'bench';

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const wrappingKey = randomBytes(32);
  const key = { WAYBILL_KEYRING_KEY: wrappingKey.toString('hex') };
  const port = await freePort();
  await processes.add('projector');
  // The benchmark makes the root key itself, because it encrypts the many variables itself.
  const keyring = await publishRootKey(processes, wrappingKey);
  await processes.add('broker', 'broker', key);
  await processes.add('api', 'api', {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0',
    ...key,
  });
  await measureSigning(ctx, keyring);
  const api = new Client(port);
  ctx.onEnd(() => api.stop());
  const put = (/** @type {string} */ path) =>
    api.ask(`/v1/var/${path}`, { method: 'PUT', body: JSON.stringify({ Items: items() }) });
  await until('the keyring is ready', async () => (await put('warm/up')).length > 0);

  ctx.log(`${VARIABLES} variables`);
  await manyVariables(processes, keyring);
  const listed = async (/** @type {string} */ query) =>
    JSON.parse((await api.ask(`/v1/vars?${query}`)).toString()).length;
  await until('they are projected', async () => (await listed('prefix=many/99999')) === 1, PROJECTED_DEADLINE_MS);

  const puts = [];
  for (let n = 0; n < WRITES; n++) puts.push(await timed(() => put(`app/${n % 100}`)));
  const readTimes = async (/** @type {number} */ count) => {
    const gets = [];
    for (let n = 0; n < count; n++) gets.push(await api.timeOf(`/v1/var/app/${n % 100}`));
    return gets;
  };
  const gets = await readTimes(READS);
  const [pages, lists] = [[], []];
  for (let n = 0; n < PAGES; n++)
    pages.push(await api.timeOf(`/v1/vars?prefix=many/&per_page=${PAGE}&next_token=default.many/${n * 400}`));
  for (let n = 0; n < LISTS; n++) lists.push(await api.timeOf('/v1/vars?prefix=many/'));
  ctx.metric('putP50Ms', percentile(puts, 50), { unit: 'ms', goal: { below: 10 } });
  ctx.metric('putP99Ms', percentile(puts, 99), { unit: 'ms' });
  ctx.metric('getP50Ms', percentile(gets, 50), { unit: 'ms', goal: { below: 3 } });
  ctx.metric('getP99Ms', percentile(gets, 99), { unit: 'ms' });
  ctx.metric('pageP50Ms', percentile(pages, 50), { unit: 'ms' });
  ctx.metric('listP50Ms', percentile(lists, 50), { unit: 'ms' });
  ctx.note(`page: ${PAGE} of ${VARIABLES} by prefix; list: all of them in one answer`);

  const before = await readTimes(READS_DURING_ROTATION);
  await api.ask('/v1/operator/keyring/rotate?full=true', { method: 'PUT' });
  const movedOf = async (/** @type {string} */ query) =>
    /** @type {{ CreateIndex: number, ModifyIndex: number }[]} */ (
      JSON.parse((await api.ask(`/v1/vars?${query}`)).toString())
    ).filter(({ CreateIndex, ModifyIndex }) => ModifyIndex > CreateIndex).length;
  await until('the first variable is encrypted anew', async () => (await movedOf('prefix=warm/up')) > 0);
  const began = performance.now();
  const during = await readTimes(READS_DURING_ROTATION);
  const seconds = (performance.now() - began) / 1_000;
  ctx.metric('rotateReadP99Ratio', percentile(during, 99) / percentile(before, 99), { goal: { below: 1.3 } });
  ctx.metric('rotatedPerSecond', (await movedOf('prefix=many/')) / seconds, { unit: '/s' });
}

/**
 * Commits a root key that the benchmark, the broker and the API can unwrap.
 *
 * @param {ServiceProcesses} processes
 * @param {Buffer} wrappingKey
 */
async function publishRootKey({ journal }, wrappingKey) {
  const wrapper = new AeadWrapper(wrappingKey);
  const nowNs = Date.now() * 1e6;
  const Key = await newRootKey(wrapper, { KeyID: ROOT_KEY, State: 'active', CreateTime: nowNs, PublishTime: 0 });
  await publisher(journal)('RootKeyUpsert', { Key, Rekey: false, MustExist: false });
  const row = { ...Key, CreateIndex: 1, ModifyIndex: 1 };
  const keys = { find: () => row, active: () => row, all: () => [row] };
  return new Keyring({ wrapper, keys, nowMs: () => Date.now() });
}

/** About 300 bytes. */
const items = () => ({
  user: 'app',
  password: randomBytes(24).toString('base64'),
  url: 'postgres://db.example.org:5432/app',
  certificate: randomBytes(120).toString('base64'),
});

/** @param {() => Promise<unknown>} work */
async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** @param {ServiceProcesses} processes @param {Keyring} keyring */
async function manyVariables({ journal }, keyring) {
  const publish = publisher(journal);
  await inFlight(
    Array.from({ length: VARIABLES }, (_, n) => n),
    async (n) => {
      const Path = `many/${n}`;
      const sealed = await keyring.sealItems({ Namespace: 'default', Path }, items());
      return publish('VarApplyState', { Op: 'set', Path, LockID: '', ...sealed });
    },
  );
}
