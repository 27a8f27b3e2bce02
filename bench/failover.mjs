// A singleton's holder dies; how long until its successor acts. Two processes, real NATS, the production TTL.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startNats } from '@waybill/embedded';
import { connect, ensureStreams } from '@waybill/journal';

export const describe = 'a singleton’s holder is killed: time until the successor acts';

const TTL_MS = 3_000;
const DEADLINE_MS = 30_000;
const CONTENDER = fileURLToPath(new URL('../test/lease-contender.mjs', import.meta.url));

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-bench-'));
  ctx.onEnd(() => rm(dir, { recursive: true, force: true }));
  const nats = await startNats({ dir });
  ctx.onEnd(() => nats.stop());
  const link = await connect({ url: nats.url, name: 'bench' });
  await ensureStreams(link, { replicas: 1 });
  await link.close();

  const running = new Set();
  ctx.onEnd(() => {
    for (const child of running) child.kill('SIGKILL');
  });
  let names = 0;
  const contend = async () => {
    names += 1;
    const child = spawn(process.execPath, [CONTENDER, nats.url, `contender-${names}`, String(TTL_MS)]);
    running.add(child);
    child.once('exit', () => running.delete(child));
    const lines = createInterface({ input: child.stdout });
    const contender = { child, started: heard(lines, 'start') };
    await heard(lines, 'ready');
    return contender;
  };

  let holder = await contend();
  await holder.started;
  await ctx.measure('takeoverMs', { unit: 'ms', runs: 5, warmups: 1, goal: { below: 4_000 } }, async () => {
    const successor = await contend();
    const killedAt = Date.now();
    holder.child.kill('SIGKILL');
    const { at } = await successor.started;
    holder = successor;
    return at - killedAt;
  });
  ctx.note(
    `SIGKILL of the holder's process, lease TTL ${TTL_MS} ms; acting = started for the new epoch after its own copy applied it`,
  );
}

/** @param {import('node:readline').Interface} lines @param {string} event @returns {Promise<{ at: number }>} */
function heard(lines, event) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no ${event} within ${DEADLINE_MS} ms`)), DEADLINE_MS);
    lines.on('line', (line) => {
      const said = JSON.parse(line);
      if (said.event !== event) return;
      clearTimeout(late);
      resolve(said);
    });
  });
}
