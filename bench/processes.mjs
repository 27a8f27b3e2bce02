// Services as processes of their own over real servers, for benchmarks that kill some of them.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort, startStack } from '@waybill/embedded';
import { connect, ensureStreams, initialise, Journal } from '@waybill/journal';
import { systemClock } from '@waybill/service';

const READY_DEADLINE_MS = 60_000;
const POLL_MS = 20;
/** Of /proc; Linux has had this value on every platform for decades. */
const TICKS_PER_SECOND = 100;
/** As the container image starts services; and to profile them: BENCH_NODE_ARGS='--cpu-prof --cpu-prof-dir=/tmp/profiles'. */
const NODE_ARGS = [
  '--enable-source-maps',
  '--max-semi-space-size=64',
  ...(process.env.BENCH_NODE_ARGS?.split(' ') ?? []),
];

/** Of the process, and of its children that have ended. @param {number | string | undefined} pid */
function cpuTicks(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const ticks = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15);
  return ticks.reduce((sum, one) => sum + Number(one), 0);
}

/** @param {string} service */
const mainOf = (service) => fileURLToPath(new URL(`../apps/${service}/dist/main.js`, import.meta.url));

/** A log with its server, and processes that follow it. Postgres stays empty, so who starts replays the log. */
export class ServiceProcesses {
  /** @type {Map<string, { child: import('node:child_process').ChildProcess, opsUrl: string }>} */
  #running = new Map();

  /**
   * @param {import('@waybill/embedded').Stack} stack
   * @param {import('@waybill/journal').NatsLink} link
   * @param {Journal} journal the benchmark's own
   */
  constructor(stack, link, journal) {
    this.stack = stack;
    this.link = link;
    this.journal = journal;
  }

  /** @param {import('./harness.mjs').Bench} ctx */
  static async start(ctx) {
    const stack = await startStack();
    ctx.onEnd(() => stack.stop());
    const link = await connect({ url: stack.natsUrl, name: 'bench' });
    ctx.onEnd(() => link.close());
    await ensureStreams(link, { replicas: 1 });
    const journal = new Journal(link);
    ctx.onEnd(() => journal.close());
    await initialise(journal, { region: 'global', clock: systemClock, newId: randomUUID });
    const processes = new ServiceProcesses(stack, link, journal);
    ctx.onEnd(() => Promise.all([...processes.#running.keys()].map((name) => processes.end(name, 'SIGTERM'))));
    return processes;
  }

  /**
   * Starts one more process of a service and waits until it is ready.
   *
   * @param {string} service
   * @param {string} name
   * @param {NodeJS.ProcessEnv} env
   * @param {readonly string[]} nodeArgs after those that all services get
   */
  async add(service, name = service, env = {}, nodeArgs = []) {
    const port = await freePort();
    const opsUrl = `http://127.0.0.1:${port}`;
    const child = spawn(process.execPath, [...NODE_ARGS, ...nodeArgs, mainOf(service)], {
      env: {
        PATH: process.env.PATH,
        WAYBILL_NATS_URL: this.stack.natsUrl,
        WAYBILL_DATABASE_URL: this.stack.databaseUrl,
        WAYBILL_OPS_PORT: String(port),
        WAYBILL_LOG_LEVEL: 'error',
        WAYBILL_LOG_FORMAT: 'line',
        ...env,
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    this.#running.set(name, { child, opsUrl });
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`${name} ended with ${code}`);
    });
    ended.catch(() => {}); // later it is the benchmark that ends it
    await Promise.race([ended, until(`${name} is ready`, async () => (await fetch(`${opsUrl}/readyz`)).ok)]);
  }

  /** What a service says it does: `holder, epoch 3`, `standby`. @param {string} name @returns {Promise<string>} */
  async roleOf(name) {
    const answer = await fetch(`${this.#running.get(name)?.opsUrl}/readyz`);
    return /** @type {{ role: string }} */ (await answer.json()).role;
  }

  /**
   * CPU seconds that a service has used, or one of `nats`, `postgres` and `bench`, this program; read from the system, so
   * that asking costs it nothing.
   *
   * @param {string} name
   */
  cpuSeconds(name) {
    let ticks = 0;
    for (const pid of this.#pidsOf(name)) ticks += cpuTicks(pid);
    return ticks / TICKS_PER_SECOND;
  }

  /** @param {string} name @returns {(number | string | undefined)[]} */
  #pidsOf(name) {
    if (name === 'bench') return [process.pid];
    if (name === 'nats') return [this.stack.nats.pid];
    if (name !== 'postgres') return [this.#running.get(name)?.child.pid];
    const { pid } = this.stack.postgres; // each connection is a child of it
    return [pid, ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')];
  }

  /** Memory a process has resident, bytes. @param {string} name */
  residentBytes(name) {
    const status = readFileSync(`/proc/${this.#running.get(name)?.child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  }

  /** How long the process takes to answer `/metrics`, milliseconds. @param {string} name */
  async scrapeMs(name) {
    const began = performance.now();
    await (await fetch(`${this.#running.get(name)?.opsUrl}/metrics`)).text();
    return performance.now() - began;
  }

  /** @param {string} name @param {NodeJS.Signals} signal */
  async end(name, signal = 'SIGKILL') {
    const entry = this.#running.get(name);
    if (!entry) return;
    this.#running.delete(name);
    if (entry.child.exitCode !== null || entry.child.signalCode !== null) return;
    const exited = once(entry.child, 'exit');
    entry.child.kill(signal);
    await exited;
  }
}

/**
 * Waits for a condition; what it throws counts as not yet.
 *
 * @param {string} what
 * @param {() => Promise<boolean> | boolean} condition
 * @param {number} deadlineMs
 */
export async function until(what, condition, deadlineMs = READY_DEADLINE_MS) {
  const end = performance.now() + deadlineMs;
  let last;
  for (;;) {
    try {
      if (await condition()) return;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
