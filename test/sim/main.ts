#!/usr/bin/env node
import { readCommandLine, USAGE, UsageError, type Wanted } from './command-line.js';
import { realNowMs } from './kernel/real-world.js';
import { MUTATIONS } from './mutations/mutations.js';
import { planOf } from './run-plan.js';
import { shrink } from './shrink.js';
import { type RunResult, simulate } from './simulation.js';
import { storyOf } from './story.js';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function switchOn(name: string | undefined): void {
  if (name === undefined) return;
  const mutation = MUTATIONS.find((one) => one.name === name);
  if (!mutation)
    throw new UsageError(
      `there is no mutation "${name}"; there are:\n${MUTATIONS.map((one) => `  ${one.name}`).join('\n')}`,
    );
  mutation.apply();
}

/** @returns whether no run failed */
async function run({ seeds, forMs, size, shrinks }: Wanted): Promise<boolean> {
  const startedAtMs = realNowMs();
  let runs = 0;
  for (const seed of seeds) {
    if (forMs !== undefined && realNowMs() - startedAtMs >= forMs) break;
    const plan = planOf(seed, size);
    const result = await simulate(plan);
    runs++;
    say(lineOf(result));
    if (!result.failure) continue;
    const told = shrinks ? await shrink(plan, result) : { plan, result, runs: 0 };
    if (told.runs > 0)
      say(`\nshrunk from ${plan.events.length} to ${told.plan.events.length} events in ${told.runs} runs\n`);
    say(storyOf(told.plan, told.result));
    return false;
  }
  const hours = (realNowMs() - startedAtMs) / 3_600_000;
  say(`${runs} runs, ${Math.round(runs / hours)} an hour, none failed`);
  return true;
}

function lineOf({ seed, hash, transactions, acknowledged, simulatedMs, failure }: RunResult): string {
  const writes = [...acknowledged.values()].reduce((sum, times) => sum + times, 0);
  const simulated = `${Math.round(simulatedMs / 1_000)} s simulated`;
  const found = failure ? `FAILED: ${failure.message}` : 'ok';
  return `seed ${seed}  ${hash}  ${transactions} transactions, ${writes} acknowledged actions, ${simulated}  ${found}`;
}

try {
  const wanted = readCommandLine(process.argv.slice(2), realNowMs());
  switchOn(wanted.mutation);
  process.exitCode = (await run(wanted)) ? 0 : 1;
} catch (error) {
  const isUsage = error instanceof UsageError || (error instanceof TypeError && error.message.includes('option'));
  if (!isUsage) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
