import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { type AgentSelf, readAgentSelf } from '../agent/agent-self.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { sortedEntries } from '../terminal/sorted-entries.js';

/** Prints the sections of the agent's statistics, sorted (CL-925). */
export const command: ServerCommand = {
  usage: '',
  description: 'Shows statistics of the server at the address.\n\nNeeds the capability agent:read.',
  flags: [...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run({ api, data, terminal }) {
    const { value, exact } = await readAgentSelf(api).catch((error: unknown) => {
      throw failed('querying agent info', error);
    });
    if (data) data(exact);
    else terminal.print(sections(value));
    return 0;
  },
};

const sections = ({ stats }: AgentSelf): string =>
  sortedEntries(stats ?? {})
    .flatMap(([name, values]) => [name, ...sortedEntries(values).map(([key, value]) => `  ${key} = ${value}`)])
    .join('\n');
