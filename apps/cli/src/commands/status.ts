import { parseCommandLine } from '../command-line.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { dataPrinter } from '../terminal/data-printer.js';
import { VERBOSE_FLAG } from '../terminal/display.js';
import { CommandFailure } from '../failure.js';
import { search } from '../server/search.js';
import { loadServerCommand } from '../catalogue.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { UI_FLAG } from '../server/web-hint.js';

/** The command for each context of the search (CL-901). */
const COMMAND_OF: Readonly<Record<string, string>> = {
  allocs: 'alloc status',
  deployment: 'deployment status',
  evals: 'eval status',
  jobs: 'job status',
  namespaces: 'namespace status',
  node_pools: 'node pool info',
  nodes: 'node status',
  plugins: 'plugin status',
  volumes: 'volume status',
  host_volumes: 'volume status',
};

export const command: ServerCommand = {
  usage: '[<id>]',
  description: 'Lists all jobs, or shows the object with the given ID or prefix.\n\nNeeds the capability to read it.',
  flags: [VERBOSE_FLAG, UI_FLAG],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <id>' },
  async run(call) {
    const [id] = call.args;
    if (id === undefined) return runAs('job status', call);
    return runAs(await commandFor(call, id), call);
  },
};

/** Searches for the ID and returns the command that shows its object (CL-901, CL-902). @throws CommandFailure */
async function commandFor(call: Call, id: string): Promise<string> {
  const { Matches } = await search(call.api, id, 'all');
  const found = sortedEntries(Matches).filter(
    ([context, ids]) => COMMAND_OF[context] !== undefined && (ids ?? []).length > 0,
  );
  const exact = found.filter(([, ids]) => ids?.[0] === id);
  const [only, another] = exact.length > 0 ? exact : found;
  if (only && !another && (exact.length > 0 || only[1]?.length === 1)) return COMMAND_OF[only[0]] ?? '';
  if (!only) throw new CommandFailure(`Unable to resolve ID: "${id}"`);
  const lines = found.map(
    ([context, ids]) => `${context.charAt(0).toUpperCase()}${context.slice(1)}: ${(ids ?? []).join(', ')}`,
  );
  throw new CommandFailure(`Multiple matches found for id "${id}"\n\n${lines.join('\n')}`);
}

/** Runs the other command with the words of this one, without flags that it does not have. */
async function runAs(words: string, call: Call): Promise<number> {
  const spec = await loadServerCommand(words);
  if (!spec) throw new CommandFailure(`"${words}" is not there yet`);
  const unknown = command.flags.filter((flag) => !spec.flags.some(({ name }) => name === flag.name));
  const given = call.typed.slice(1).filter((word) => !unknown.some(({ name }) => isFlag(word, name)));
  const { flags } = parseCommandLine(spec, words, given);
  const data = await dataPrinter(spec.flags, flags, call.terminal);
  return spec.run({ ...call, typed: [...words.split(' '), ...given], flags, data });
}

const isFlag = (word: string, name: string): boolean => [`-${name}`, `--${name}`].includes(word.split('=')[0] ?? '');
