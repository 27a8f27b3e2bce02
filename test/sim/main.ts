#!/usr/bin/env node
import { readCommandLine, USAGE, UsageError, type Wanted } from './command-line.js';
import { outcomesOf } from './crew.js';
import { realNowMs } from './kernel/real-world.js';
import { NoSuchMutationError, type Outcome, outcomeOf, switchOn } from './outcome.js';
import { planOf } from './run-plan.js';
import { shrink } from './shrink.js';
import { simulate } from './simulation.js';
import { storyOf } from './story.js';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** @returns whether no run failed */
async function run(wanted: Wanted): Promise<boolean> {
  const startedAtMs = realNowMs();
  let runs = 0;
  for await (const outcome of outcomesIn(wanted, startedAtMs)) {
    runs++;
    say(lineOf(outcome));
    if (outcome.failure === undefined) continue;
    await tell(outcome.seed, wanted);
    return false;
  }
  const hours = (realNowMs() - startedAtMs) / 3_600_000;
  say(`${runs} runs, ${Math.round(runs / hours)} an hour, none failed`);
  return true;
}

async function* outcomesIn(
  { seeds, forMs, size, mutation, jobs }: Wanted,
  startedAtMs: number,
): AsyncGenerator<Outcome> {
  const inTime = within(seeds, () => forMs === undefined || realNowMs() - startedAtMs < forMs);
  if (jobs > 1) yield* outcomesOf(inTime, jobs, { size, mutation });
  else for (const seed of inTime) yield await outcomeOf(planOf(seed, size));
}

function* within(seeds: Iterable<number>, isTimeLeft: () => boolean): Generator<number> {
  for (const seed of seeds) {
    if (!isTimeLeft()) return;
    yield seed;
  }
}

/** A failed run once more, made as small as it gets. */
async function tell(seed: number, { size, shrinks }: Wanted): Promise<void> {
  const plan = planOf(seed, size);
  const result = await simulate(plan);
  const told = shrinks ? await shrink(plan, result) : { plan, result, runs: 0 };
  if (told.runs > 0)
    say(`\nshrunk from ${plan.events.length} to ${told.plan.events.length} events in ${told.runs} runs\n`);
  say(storyOf(told.plan, told.result));
}

function lineOf({ seed, hash, transactions, acknowledged, simulatedMs, failure }: Outcome): string {
  const simulated = `${Math.round(simulatedMs / 1_000)} s simulated`;
  const found = failure === undefined ? 'ok' : `FAILED: ${failure}`;
  return `seed ${seed}  ${hash}  ${transactions} transactions, ${acknowledged} acknowledged actions, ${simulated}  ${found}`;
}

try {
  const wanted = readCommandLine(process.argv.slice(2), realNowMs());
  if (wanted.mutation !== undefined) switchOn(wanted.mutation);
  process.exitCode = (await run(wanted)) ? 0 : 1;
} catch (error) {
  const isUsage =
    error instanceof UsageError ||
    error instanceof NoSuchMutationError ||
    (error instanceof TypeError && error.message.includes('option'));
  if (!isUsage) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
