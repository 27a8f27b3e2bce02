// The event stream over HTTP, as subscribers get it: real API and projector as processes of their own.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { freePort } from '@waybill/embedded';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { percentile } from './harness.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'the event stream: delivery to 1,000 subscribers, replay from disk, memory per subscriber';

const SUBSCRIBERS = 1_000;
/** Of them, those that get everything; each of the others follows a job of its own. */
const EVERYTHING = 5;
/** Connections opened at a time. */
const OPENING = 50;
const TXNS_PER_SECOND = 500;
const SECONDS = 10;
/** Written before that: a service is compiled while it runs, and this one has just been started. */
const WARM_UP_SECONDS = 10;
/** Whose CPU is measured. */
const MEASURED = ['api', 'projector', 'postgres', 'nats', 'bench'];
/** Replayed, in transactions of EVENTS_PER_TXN. */
const EVENTS = 200_000;
const EVENTS_PER_TXN = 100;
/** Events on their way to the log at once. */
const TXNS_IN_FLIGHT = 50;

/** @typedef {{ index: number, at: number }} Delivered to one subscriber, when */

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const port = await freePort();
  const api = { WAYBILL_HTTP_PORT: String(port), WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0' };
  await processes.add('projector');
  await processes.add('api', 'api', api);
  const url = `http://127.0.0.1:${port}/v1/event/stream?namespace=*`;

  await delivery(ctx, processes, url);

  ctx.log(`${EVENTS} events`);
  const from = await applied(url);
  await write(processes.journal, EVENTS / EVENTS_PER_TXN, EVENTS_PER_TXN);
  const { last } = await processes.journal.bounds();
  await until('all is projected', async () => (await applied(url)) >= last, 300_000);
  await processes.end('api', 'SIGTERM'); // what it has in memory must not count
  await processes.add('api', 'api', api);
  await ctx.measure('replayPerSecond', { unit: 'events/s', runs: 3, goal: { atLeast: 100_000 } }, async () => {
    const ms = await ctx.time(() => replayed(`${url}&index=${from + 1}`, last));
    return (EVENTS / ms) * 1000;
  });
  ctx.note(
    `delivery: ${SUBSCRIBERS} subscribers on one API process, ${EVERYTHING} of them with everything, the others with a job each; ` +
      `${TXNS_PER_SECOND} transactions of one evaluation per second for ${SECONDS} s, after ${WARM_UP_SECONDS} s of the same; from the acknowledgement of the log`,
  );
  ctx.note(
    `replay: ${EVENTS} evaluations in frames of ${EVENTS_PER_TXN}, not 1,000,000, as writing them takes longest; API started anew; ` +
      'readers, writer and servers share the machine',
  );
}

/** @param {import('./harness.mjs').Bench} ctx @param {ServiceProcesses} processes @param {string} url */
async function delivery(ctx, processes, url) {
  /** @type {Delivered[]} */
  const received = [];
  const line = (/** @type {string} */ text) => {
    const index = /^\{"Index":(\d+)/.exec(text);
    if (index) received.push({ index: Number(index[1]), at: performance.now() });
  };
  const before = processes.residentBytes('api');
  /** @type {(() => void)[]} */
  const closes = [];
  for (let at = 0; at < SUBSCRIBERS; at += OPENING)
    closes.push(
      ...(await Promise.all(
        Array.from({ length: OPENING }, (_, n) => {
          const topic = at + n < EVERYTHING ? '' : `&topic=Evaluation:job-${at + n}`;
          return subscribe(`${url}&index=9999999999${topic}`, line);
        }),
      )),
    );
  const bytes = (processes.residentBytes('api') - before) / SUBSCRIBERS;
  ctx.metric('bytesPerSubscriber', bytes, { unit: 'B', goal: { below: 50_000 } });

  await delivered(processes.journal, WARM_UP_SECONDS, received);
  const cpuBefore = MEASURED.map((name) => processes.cpuSeconds(name));
  const samples = await delivered(processes.journal, SECONDS, received);
  MEASURED.forEach((name, at) => {
    const seconds = processes.cpuSeconds(name) - (cpuBefore[at] ?? 0);
    ctx.metric(`${name}CpuUsPerTxn`, (seconds * 1e6) / (TXNS_PER_SECOND * SECONDS), { unit: 'us' });
  });
  for (const close of closes) close();
  ctx.metric('deliverP50Ms', percentile(samples, 50), { unit: 'ms' });
  ctx.metric('deliverP99Ms', percentile(samples, 99), { unit: 'ms', goal: { below: 25 } });
}

/**
 * Writes at an even pace, and waits until all of it is delivered.
 *
 * @param {import('@waybill/journal').Journal} journal @param {number} seconds
 * @param {Delivered[]} received filled by the subscribers
 * @returns {Promise<number[]>} how long after its acknowledgement by the log each frame was delivered, milliseconds
 */
async function delivered(journal, seconds, received) {
  /** @type {Map<number, number>} when the log had an index */
  const committed = new Map();
  received.length = 0;
  let expected = 0;
  const began = performance.now();
  for (let n = 0; n < TXNS_PER_SECOND * seconds; n++) {
    const waitMs = began + (n / TXNS_PER_SECOND) * 1000 - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const job = n % SUBSCRIBERS;
    expected += EVERYTHING + (job >= EVERYTHING ? 1 : 0);
    void journal.publish(draft([`job-${job}`])).then(({ index }) => committed.set(index, performance.now()));
  }
  await until('all is delivered', () => received.length >= expected);
  return received.map(({ index, at }) => Math.max(0, at - (committed.get(index) ?? at)));
}

/** @param {string[]} jobs */
function draft(jobs) {
  const Evals = jobs.map((JobID) => fixtures.anEval({ ID: randomUUID(), JobID, Status: 'blocked' }));
  return draftTxn(
    'EvalUpdate',
    { Evals },
    { timeNs: Date.now() * 1e6, requestId: randomUUID(), actor: serviceActor('bench'), namespace: 'default' },
  );
}

/** @param {import('@waybill/journal').Journal} journal @param {number} txns @param {number} events */
async function write(journal, txns, events) {
  let left = txns;
  await Promise.all(
    Array.from({ length: TXNS_IN_FLIGHT }, async () => {
      while (left-- > 0) await journal.publish(draft(Array.from({ length: events }, () => 'replayed')));
    }),
  );
}

/**
 * Resolves with the way to close, once the stream has begun. Over a bare socket: an HTTP client for each of a thousand
 * subscribers costs more than what is measured. The API writes a line as one chunk, so the ends of lines are all to look for.
 *
 * @param {string} url @param {(text: string) => void} onLine of a frame @returns {Promise<() => void>}
 */
function subscribe(url, onLine) {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`),
    );
    let rest = '';
    socket.setEncoding('latin1');
    socket.on('data', (/** @type {string} */ chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const text of lines)
        if (text.startsWith('{"Index"')) onLine(text);
        else if (text.startsWith('{}')) resolve(() => socket.destroy());
        else if (text.startsWith('HTTP/') && !text.includes(' 200 ')) reject(new Error(`the API answers ${text}`));
    });
    socket.on('error', reject);
  });
}

/** Reads up to an index, and does no more with the bytes than to find the ends of lines. @param {string} url @param {number} last */
async function replayed(url, last) {
  /** @type {() => void} */
  let close = () => {};
  await new Promise((resolve, reject) => {
    subscribe(url, (text) => {
      if (text.startsWith(`{"Index":${last},`)) resolve(undefined);
    }).then((made) => (close = made), reject);
  });
  close();
}

/** @param {string} url */
async function applied(url) {
  const answer = await fetch(`${url}&index=1`);
  await answer.body?.cancel();
  return Number(answer.headers.get('x-waybill-event-head'));
}
