#!/usr/bin/env node
import { realNowMs } from './kernel/real-world.js';
import { planOf } from './run-plan.js';
import { storyOf } from './story.js';
import { simulate } from './simulation.js';

const [from = '1', to = from] = (process.argv[2] ?? '1').split('..');
for (let seed = Number(from); seed <= Number(to); seed++) {
  const startedAtMs = realNowMs();
  const plan = planOf(seed);
  const run = await simulate(plan);
  const { cluster: _, failure, ...result } = run;
  process.stdout.write(`${JSON.stringify(result)} ${realNowMs() - startedAtMs} ms ${failure ? failure.stack : 'ok'}\n`);
  if (failure && process.argv[3]) process.stdout.write(`${storyOf(plan, run, Number(process.argv[3]))}\n`);
}
