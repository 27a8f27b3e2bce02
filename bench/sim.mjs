// Short runs of the simulator per hour, two at once: 200 actions of users, 20 machines, 3 servers.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const describe = 'short simulated runs of one region per hour on two cores: 200 actions, 20 machines, 3 servers';

const JOBS = 2;
/** Of each measurement. */
const RUNS = 50;
/** More than are ever asked for: the processes go on until the benchmark is over, as they do in an hour. */
const SEEDS = '1..1000000';
const MS_PER_HOUR = 3_600_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url));
const main = fileURLToPath(new URL('../test/sim/dist/main.js', import.meta.url));

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  execFileSync(tsc, ['-b', 'test/sim'], { cwd: root, stdio: 'inherit' });
  const outcomes = simulated(ctx);
  await ctx.measure('runsPerHour', { unit: '/h', runs: 3, warmups: 1, goal: { atLeast: 10_000 } }, async () => {
    const startedAt = performance.now();
    for (let done = 0; done < RUNS; done++) await expectSuccess(outcomes);
    return (RUNS * MS_PER_HOUR) / (performance.now() - startedAt);
  });
  ctx.note(`${RUNS} runs by ${JOBS} processes that have done as many before`);
}

/** The lines of one simulator, as its runs end. @param {import('./harness.mjs').Bench} ctx */
function simulated(ctx) {
  const args = [
    '--min-semi-space-size=64',
    '--max-semi-space-size=64',
    '--initial-heap-size=1024',
    main,
    '--seeds',
    SEEDS,
    '--regions',
    '1',
    '--jobs',
    `${JOBS}`,
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  ctx.onEnd(async () => {
    if (child.kill()) await once(child, 'exit');
  });
  return createInterface(child.stdout)[Symbol.asyncIterator]();
}

/** @param {AsyncIterator<string>} outcomes */
async function expectSuccess(outcomes) {
  const { value, done } = await outcomes.next();
  if (done || !value.endsWith('  ok')) throw new Error(`a run failed: ${done ? 'the simulator ended' : value}`);
}
