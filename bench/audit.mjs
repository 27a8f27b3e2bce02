// What the audit log costs an API: CPU time per request with each sink, as a ratio to that without.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { fixtures } from '@waybill/state';
import { publisher } from './evaluation-load.mjs';
import { ServiceProcesses } from './processes.mjs';

export const describe = 'the audit log: CPU per request of an API, with file and stream, against none';

const REQUESTS = 2_000;
const READERS = 8;
/** APIs take turns, so that a machine that becomes slower does so for all of them. */
const ROUNDS = 5;
/** One kind of API is one of these. */
const KINDS = {
  off: {},
  enforced: { WAYBILL_AUDIT_ENABLED: 'true' },
  bestEffort: { WAYBILL_AUDIT_ENABLED: 'true', WAYBILL_AUDIT_DELIVERY: 'best-effort' },
  stream: { WAYBILL_AUDIT_ENABLED: 'true', WAYBILL_AUDIT_SINKS: 'nats' },
};

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const directory = mkdtempSync(path.join(tmpdir(), 'waybill-bench-'));
  ctx.onEnd(() => rmSync(directory, { recursive: true }));
  const processes = await ServiceProcesses.start(ctx);
  await processes.add('projector');
  const job = fixtures.aJob({ ID: 'web' });
  const Eval = fixtures.anEval({ ID: randomUUID(), JobID: 'web' });
  await publisher(processes.journal)('JobRegister', { ...fixtures.aRegistration(job), Eval });
  /** @type {Record<string, { port: number, seconds: number }>} */
  const apis = {};
  for (const [name, settings] of Object.entries(KINDS)) {
    const port = await freePort();
    const file = path.join(directory, name, 'audit.log');
    await processes.add('api', name, { WAYBILL_HTTP_PORT: String(port), WAYBILL_AUDIT_FILE: file, ...settings });
    await ask(port); // what is compiled at the first requests is no cost of any of the later ones
    apis[name] = { port, seconds: 0 };
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, api] of Object.entries(apis)) {
      const before = processes.cpuSeconds(name);
      await ask(api.port);
      api.seconds += processes.cpuSeconds(name) - before;
    }
  for (const [name, { seconds }] of Object.entries(apis))
    ctx.metric(`${name}CpuUs`, (seconds * 1e6) / (ROUNDS * REQUESTS), { unit: 'us' });
  for (const name of ['enforced', 'bestEffort', 'stream']) ctx.ratio(`${name}Cost`, `${name}CpuUs`, 'offCpuUs');
  ctx.note(`CPU of the API alone for GET /v1/job/web, ${READERS} readers at once; both records of each request`);
}

/** REQUESTS times, by READERS at once. @param {number} port */
async function ask(port) {
  const agent = new Agent({ keepAlive: true, maxSockets: READERS });
  let left = REQUESTS;
  await Promise.all(
    Array.from({ length: READERS }, async () => {
      while (left-- > 0) await answered(port, agent);
    }),
  );
  agent.destroy();
}

/** @param {number} port @param {Agent} agent @returns {Promise<void>} */
function answered(port, agent) {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/v1/job/web', agent }, (answer) => {
      answer.resume();
      if (answer.statusCode !== 200) reject(new Error(`answered ${answer.statusCode}`));
      answer.once('end', resolve);
    });
    sent.once('error', reject);
    sent.end();
  });
}
