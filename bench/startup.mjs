import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@waybill/embedded';
import { median } from './harness.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const WARM_STARTS = 3;
const SUBMITS = 15;
const IDLE_MS = 10_000;

export const describe = 'From nothing to a running job: first and later starts, submit to running, memory when idle';

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-bench-'));
  chmodSync(dir, 0o711); // root's PostgreSQL user passes through
  ctx.onEnd(() => rmSync(dir, { recursive: true, force: true }));
  ctx.log('cloning and installing (not counted)');
  const clone = path.join(dir, 'waybill');
  execFileSync('git', ['clone', '--quiet', ROOT, clone]);
  execFileSync('npm', ['ci', '--silent', '--prefer-offline'], { cwd: clone, stdio: 'ignore' });

  const cold = await startup(clone, 'npm', ['start', '--']);
  ctx.metric('coldStartMs', cold.runningAfterMs, { unit: 'ms', goal: { below: 8_000 } });
  await cold.stop();

  const warm = [];
  for (let i = 0; i < WARM_STARTS; i++) {
    const started = await startup(clone, 'npm', ['start', '--']);
    warm.push(started.runningAfterMs);
    await started.stop();
  }
  ctx.metric('warmStartMs', median(warm), { unit: 'ms', goal: { below: 3_000 } });

  const node = await startup(clone, process.execPath, ['--enable-source-maps', 'apps/dev/dist/main.js']);
  try {
    const submits = [];
    for (let i = 0; i < SUBMITS; i++) submits.push(await submitToRunning(node.api, `bench-${i}`));
    ctx.metric('submitToRunningMs', median(submits), { unit: 'ms', goal: { below: 300 } });
    ctx.log(`idle for ${IDLE_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    ctx.metric('idleRssMb', rssMb(node.pid), { unit: 'MB', goal: { below: 350 } });
  } finally {
    await node.stop();
  }
}

/**
 * Starts Waybill and waits until it says that the example job runs.
 * @param {string} cwd
 * @param {string} command
 * @param {string[]} args
 */
async function startup(cwd, command, args) {
  const port = await freePort();
  const began = performance.now();
  const child = spawn(command, [...args, '--port', String(port)], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // a group of its own, which gets the signal as from a terminal's Ctrl-C
  });
  let output = '';
  const running = new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      output += chunk;
      if (/runs\s+job hello/.test(output)) resolve(performance.now() - began);
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${output}`)));
  });
  return {
    runningAfterMs: await running,
    api: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    async stop() {
      const ended = once(child, 'exit');
      process.kill(-(child.pid ?? 0), 'SIGINT');
      await ended;
    },
  };
}

/**
 * From the request to a process that runs, by a blocking query.
 * @param {string} api
 * @param {string} id
 */
async function submitToRunning(api, id) {
  const Task = {
    Name: 't',
    Driver: 'raw_exec',
    Config: { command: 'sleep', args: ['600'] },
    Resources: { CPU: 10, MemoryMB: 10 },
  };
  const Job = { ID: id, TaskGroups: [{ Name: 'g', Tasks: [Task] }] };
  const began = performance.now();
  const answer = await fetch(`${api}/v1/jobs`, { method: 'PUT', body: JSON.stringify({ Job }) });
  if (!answer.ok) throw new Error(await answer.text());
  for (let index = 0; ;) {
    const read = await fetch(`${api}/v1/job/${id}/allocations?index=${index}&wait=10s`);
    index = Number(read.headers.get('x-nomad-index'));
    const allocs = /** @type {{ ClientStatus: string }[]} */ (await read.json());
    if (allocs.some((a) => a.ClientStatus === 'running')) return performance.now() - began;
  }
}

/** @param {number} pid */
function rssMb(pid) {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}
