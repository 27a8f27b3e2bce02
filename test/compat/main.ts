import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { readTopics, type Topic } from './pair.js';
import { type Outcome, Replay } from './replay.js';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const complain = (text: string): void => void process.stderr.write(`${text}\n`);

// Beside the sources: a compiled program finds them from dist.
const PAIRS = fileURLToPath(new URL('../pairs', import.meta.url));

interface Options {
  readonly against: string;
  readonly only?: readonly string[];
  readonly token?: string;
  readonly disturb: boolean;
  readonly json: boolean;
}

const program = new Command('compat')
  .description(
    'Plays the table of pairs (a request or a job file, and the right answer) against any server of the /v1 API and ' +
      'says what differs. It works in a namespace of its own and leaves nothing behind.',
  )
  .requiredOption('--against <url>', 'address of the server, such as http://127.0.0.1:4646')
  .option('--only <topics...>', 'these topics of the table only')
  .option('--token <secret>', 'a token that may do everything, where the server asks for one')
  .option('--disturb', 'also what touches machines and the whole cluster: for test clusters', false)
  .option('--json', 'every pair with how it went, as JSON', false)
  .addHelpText('after', '\nExit code: 0 nothing differs, 1 something does, 2 it could not be played.')
  .parse();

async function run({ against, only, token, disturb, json }: Options): Promise<number> {
  const all = readTopics(PAIRS);
  const unknown = only?.find((name) => !all.some((topic) => topic.name === name));
  if (unknown !== undefined)
    throw new Error(`no topic "${unknown}"; there are ${all.map(({ name }) => name).join(', ')}`);
  const topics = all.filter(({ name }) => only?.includes(name) ?? true);
  const replay = new Replay(against.replace(/\/$/, ''), { token, disturb });
  process.once('SIGINT', () => replay.interrupt());
  await replay.begin();
  const outcomes: Outcome[] = [];
  try {
    for (const topic of topics) {
      if (replay.wasInterrupted) break;
      const played = await replay.play(topic);
      outcomes.push(...played);
      if (!json) print(summary(topic.name, played));
    }
  } finally {
    await replay.clean();
  }
  if (replay.wasInterrupted) throw new Error('interrupted; what was made is deleted');
  const different = outcomes.filter(({ differences }) => differences.length > 0);
  const meant = different.filter(({ differs }) => differs !== undefined).length;
  if (json) print(JSON.stringify(outcomes, null, 2));
  else {
    for (const one of different) print(`\n${report(one)}`);
    const left = disturb ? '' : `, ${disturbing(topics)} left out without --disturb`;
    print(`\n${outcomes.length} pairs, ${different.length} differ, ${meant} of them on purpose${left}`);
  }
  return different.length > 0 ? 1 : 0;
}

const disturbing = (topics: readonly Topic[]): number =>
  topics.flatMap(({ pairs }) => pairs).filter((pair) => pair.kind === 'request' && pair.disturbs).length;

function summary(topic: string, played: readonly Outcome[]): string {
  const different = played.filter(({ differences }) => differences.length > 0).length;
  return `${topic.padEnd(16)} ${String(played.length).padStart(4)} pairs, ${different} differ`;
}

function report({ topic, title, differences, differs }: Outcome): string {
  const lines = differences.map(({ at, wanted, found }) => `  ${at}\n    right: ${wanted}\n    found: ${found}`);
  const deliberate = differs === undefined ? [] : [`  Waybill differs from the reference on purpose: ${differs}`];
  return [`${topic} · ${title}`, ...lines, ...deliberate].join('\n');
}

try {
  process.exitCode = await run(program.opts<Options>());
} catch (error) {
  complain(`compat: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
