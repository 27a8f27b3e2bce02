// What a secret costs: writing and reading one variable over HTTP, and listing very many.
import { randomBytes } from 'node:crypto';
import { freePort } from '@waybill/embedded';
import { inFlight, publisher } from './evaluation-load.mjs';
import { percentile } from './harness.mjs';
import { Client } from './http-client.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'variables: put and get of one with four items, a list of 100,000 by prefix';

const VARIABLES = 100_000;
const WRITES = 500;
const READS = 3_000;
const LISTS = 5;
const PAGES = 200;
const PAGE = 100;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const key = { WAYBILL_KEYRING_KEY: randomBytes(32).toString('hex') };
  const port = await freePort();
  await processes.add('projector');
  await processes.add('broker', 'broker', key);
  await processes.add('api', 'api', {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0',
    ...key,
  });
  const api = new Client(port);
  ctx.onEnd(() => api.stop());
  const put = (/** @type {string} */ path) =>
    api.ask(`/v1/var/${path}`, { method: 'PUT', body: JSON.stringify({ Items: items() }) });
  await until('the keyring is ready', async () => (await put('warm/up')).length > 0);

  ctx.log(`${VARIABLES} variables`);
  await manyVariables(processes);
  const listed = async (/** @type {string} */ query) =>
    JSON.parse((await api.ask(`/v1/vars?${query}`)).toString()).length;
  await until('they are projected', async () => (await listed('prefix=many/99999')) === 1);

  const puts = [];
  for (let n = 0; n < WRITES; n++) puts.push(await timed(() => put(`app/${n % 100}`)));
  const gets = [];
  for (let n = 0; n < READS; n++) gets.push(await api.timeOf(`/v1/var/app/${n % 100}`));
  const [pages, lists] = [[], []];
  for (let n = 0; n < PAGES; n++)
    pages.push(await api.timeOf(`/v1/vars?prefix=many/&per_page=${PAGE}&next_token=default.many/${n * 400}`));
  for (let n = 0; n < LISTS; n++) lists.push(await api.timeOf('/v1/vars?prefix=many/'));
  ctx.metric('putP50Ms', percentile(puts, 50), { unit: 'ms' });
  ctx.metric('putP99Ms', percentile(puts, 99), { unit: 'ms' });
  ctx.metric('getP50Ms', percentile(gets, 50), { unit: 'ms' });
  ctx.metric('getP99Ms', percentile(gets, 99), { unit: 'ms' });
  ctx.metric('pageP50Ms', percentile(pages, 50), { unit: 'ms' });
  ctx.metric('listP50Ms', percentile(lists, 50), { unit: 'ms' });
  ctx.note(`page: ${PAGE} of ${VARIABLES} by prefix; list: all of them in one answer`);
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

/** A list opens none of them, so what they hold is never looked at. @param {ServiceProcesses} processes */
async function manyVariables({ journal }) {
  const publish = publisher(journal);
  const Data = randomBytes(400).toString('base64');
  await inFlight(
    Array.from({ length: VARIABLES }, (_, n) => n),
    (n) => publish('VarApplyState', { Op: 'set', Path: `many/${n}`, LockID: '', KeyID: 'bench', Data }),
  );
}
