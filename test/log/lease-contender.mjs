// One contender for the role `broker` in a process of its own, for test/log/lease.test.ts and bench/failover.mjs.
// Arguments: NATS url, holder's name, TTL in ms. Each step is a line of JSON on stdout.
// stdin: `write` proposes a transaction fenced with the last epoch this process held, whether or not it still holds it.
// SIGTERM stops in order. stdin's end stops too, so that no contender outlives its parent.
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { connect, ensureStreams, Journal } from '@waybill/journal';
import { KvLeaseStore, LeaseRunner, monotonicClock } from '@waybill/roles';
import { Replica } from '@waybill/replica';
import { draftTxn, serviceActor } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';

const [url, holder, ttlMs] = process.argv.slice(2);
/** @param {string} event @param {object} fields */
const say = (event, fields = {}) => process.stdout.write(`${JSON.stringify({ event, at: Date.now(), ...fields })}\n`);

const clock = { nowMs: () => Date.now() };
const timers = {
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

const link = await connect({ url, name: holder });
await ensureStreams(link, { replicas: 1 });
const journal = new Journal(link);
const replica = new Replica({
  log: journal,
  snapshots: null,
  timers,
  logger: silentLogger,
  onFatal: (e) => say('fatal', { error: e.message }),
});
await replica.start();

let last;
const runner = new LeaseRunner({
  singleton: {
    role: 'broker',
    start(term) {
      last = term;
      say('start', { epoch: term.epoch, index: replica.appliedIndex });
    },
    applied() {},
    stop() {
      say('stop', { epoch: last.epoch });
    },
    stats: () => ({}),
  },
  store: new KvLeaseStore(link),
  state: replica,
  holder,
  ttlMs: Number(ttlMs),
  clock,
  monotonic: monotonicClock,
  timers,
  newId: randomUUID,
  region: 'global',
  logger: silentLogger,
});
runner.start();
say('ready');

const write = async () => {
  const current = last.isCurrent();
  const draft = draftTxn(
    'EvalUpdate',
    { Evals: [] },
    { timeNs: clock.nowMs() * 1e6, requestId: randomUUID(), actor: serviceActor('broker'), fence: last.fence },
  );
  const { index, verdict } = await replica.propose(draft);
  say('written', { current, index, verdict, epoch: last.epoch });
};
const stop = async () => {
  await runner.stop();
  await replica.stop();
  journal.close();
  await link.close();
  say('bye');
  process.exit(0);
};
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  if (line === 'write') void write().catch((e) => say('failed', { error: e.message }));
});
input.on('close', () => void stop());
process.on('SIGTERM', () => void stop());
