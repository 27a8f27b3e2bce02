// Short runs of the simulator per hour, two at once: 200 actions of users, 20 machines, 3 servers.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const describe = 'short simulated runs per hour on two cores: 200 actions, 20 machines, 3 servers';

const JOBS = 2;
/** Of each measurement. */
const RUNS = 50;
const MS_PER_HOUR = 3_600_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url));
const main = fileURLToPath(new URL('../test/sim/dist/main.js', import.meta.url));

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  execFileSync(tsc, ['-b', 'test/sim'], { cwd: root, stdio: 'inherit' });
  let from = 1;
  await ctx.measure('runsPerHour', { unit: '/h', runs: 3, warmups: 0, goal: { atLeast: 10_000 } }, async () => {
    const startedAt = performance.now();
    await simulated(`${from}..${from + RUNS - 1}`);
    from += RUNS;
    return (RUNS * MS_PER_HOUR) / (performance.now() - startedAt);
  });
  ctx.note(`${RUNS} runs by ${JOBS} processes; their starts are counted`);
}

/** @param {string} seeds */
async function simulated(seeds) {
  const args = ['--min-semi-space-size=64', '--max-semi-space-size=64', main, '--seeds', seeds, '--jobs', `${JOBS}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`a run of seeds ${seeds} failed: npm run sim -- --seeds ${seeds}`);
}
