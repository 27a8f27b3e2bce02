import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { readStanding, setAsideTable } from '../operator/set-aside-rows.js';

export const command: ServerCommand = {
  usage: '',
  description:
    'Shows how far PostgreSQL has followed the log, and which rows it refused to store. Such rows are set aside: ' +
    'only reads of these objects fail.\n\nNeeds a management token.',
  flags: [],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  async run({ api, terminal }) {
    const standing = await readStanding(api);
    terminal.print(`Index      = ${standing.Index}\nSet aside  = ${standing.Count}`);
    if (standing.Count > 0) terminal.print(`\n${setAsideTable(standing)}`);
    return 0;
  },
};
