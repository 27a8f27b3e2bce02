// Thousands of subscribers that begin at once, as they do when an API process comes back: who gets what, and at what cost.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { freePort } from '@waybill/embedded';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { percentile } from './harness.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = '5,000 event streams that begin at once on a log of 100,000 indexes: frames, time, memory';

/** BENCH_SUBSCRIBERS and BENCH_INDEXES make it smaller, for a look. */
const SUBSCRIBERS = Number(process.env.BENCH_SUBSCRIBERS ?? 5_000);
const INDEXES = Number(process.env.BENCH_INDEXES ?? 100_000);
/** Those that want every frame of the log. */
const EVERYTHING = 20;
/** Of each job so many frames, spread over the whole log. */
const FRAMES_PER_JOB = 20;
/** What a start at index 0 replays (EV-63). */
const REPLAYED = 100;
const TXNS_IN_FLIGHT = 100;
/** How often memory is looked at, milliseconds. */
const LOOK_MS = 100;
const DEADLINE_MS = 600_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const port = await freePort();
  await processes.add('projector');
  await processes.add('api', 'api', {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0',
  });
  const url = `http://127.0.0.1:${port}/v1/event/stream?namespace=*`;
  ctx.log(`${INDEXES} indexes`);
  const jobs = Math.floor(INDEXES / FRAMES_PER_JOB);
  let left = INDEXES;
  await Promise.all(
    Array.from({ length: TXNS_IN_FLIGHT }, async () => {
      while (left > 0) await processes.journal.publish(draft(`job-${left-- % jobs}`));
    }),
  );
  const { last } = await processes.journal.bounds();
  await until('all is projected', async () => (await head(url)) >= last, DEADLINE_MS);

  const idleMb = processes.residentBytes('api') / 1e6;
  /** @param {string} name @param {string[]} queries @param {(at: number) => number} wanted */
  const together = async (name, queries, wanted) => {
    ctx.log(`${queries.length} subscribers: ${name}`);
    let mostMb = 0;
    const looking = setInterval(() => (mostMb = Math.max(mostMb, processes.residentBytes('api') / 1e6)), LOOK_MS);
    const cpuBefore = processes.cpuSeconds('api');
    const began = performance.now();
    const all = await Promise.all(queries.map((query) => taken(`${url}&until=head&${query}`)));
    const ms = performance.now() - began;
    clearInterval(looking);
    const frames = all.reduce((sum, one) => sum + one.frames, 0);
    const complete = all.filter((one, at) => one.frames === wanted(at) && one.isOrdered).length;
    ctx.metric(`${name}CompletePercent`, (complete / queries.length) * 100, { unit: '%', goal: { atLeast: 100 } });
    ctx.metric(`${name}FramesPerSecond`, (frames / ms) * 1000, { unit: 'frames/s' });
    ctx.metric(`${name}Seconds`, ms / 1000, { unit: 's' });
    ctx.metric(`${name}ApiCpuSeconds`, processes.cpuSeconds('api') - cpuBefore, { unit: 's' });
    ctx.metric(
      `${name}FirstByteP99Ms`,
      percentile(
        all.map((one) => one.firstByteMs),
        99,
      ),
      { unit: 'ms' },
    );
    ctx.metric(`${name}MostMb`, mostMb, { unit: 'MB', goal: { below: 700 } });
  };
  ctx.metric('idleMb', idleMb, { unit: 'MB' });
  const each = Array.from({ length: SUBSCRIBERS }, (_, at) => at);
  await together(
    'newest',
    each.map(() => 'index=0'),
    () => REPLAYED,
  );
  await together(
    'ofOneJob',
    each.map((at) => `index=1&topic=Evaluation:job-${at % jobs}`),
    () => FRAMES_PER_JOB,
  );
  await together(
    'everything',
    each.slice(0, EVERYTHING).map(() => 'index=1&topic=Evaluation'),
    () => INDEXES,
  );
  ctx.note(
    `newest: the last ${REPLAYED} indexes; ofOneJob: from index 1, ${FRAMES_PER_JOB} frames of ${INDEXES}; everything: from index 1, ` +
      `${EVERYTHING} subscribers; one API process; the subscribers are this program, on the same machine`,
  );
}

/** @param {string} JobID */
function draft(JobID) {
  return draftTxn(
    'EvalUpdate',
    { Evals: [fixtures.anEval({ ID: randomUUID(), JobID, Status: 'blocked' })] },
    { timeNs: Date.now() * 1e6, requestId: randomUUID(), actor: serviceActor('bench'), namespace: 'default' },
  );
}

/**
 * What comes until the server ends the stream, over a bare socket. A frame's line begins a line of what is received.
 *
 * @param {string} url
 * @returns {Promise<{ frames: number, isOrdered: boolean, firstByteMs: number }>}
 */
function taken(url) {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve) => {
    const [began, result] = [performance.now(), { frames: 0, isOrdered: true, firstByteMs: DEADLINE_MS }];
    let [rest, newest] = ['', 0];
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`),
    );
    socket.setEncoding('latin1');
    socket.on('data', (/** @type {string} */ chunk) => {
      if (result.firstByteMs === DEADLINE_MS) result.firstByteMs = performance.now() - began;
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!line.startsWith('{"Index":')) continue;
        const index = Number.parseInt(line.slice('{"Index":'.length), 10);
        result.isOrdered &&= index > newest;
        newest = index;
        result.frames += 1;
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(result)); // what is missing shows in the count
  });
}

/** @param {string} url */
async function head(url) {
  const answer = await fetch(`${url}&index=1`);
  await answer.body?.cancel();
  return Number(answer.headers.get('x-waybill-event-head'));
}
