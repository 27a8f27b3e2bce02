import { NO_ARGUMENTS, type OfflineCommand } from '../command-spec.js';
import { TOPICS } from '../events/event-topics.js';
import { table } from '../terminal/table.js';

/** Prints the client's own table of topics, without a request (CL-1012). */
export const command: OfflineCommand = {
  offline: true,
  usage: '',
  description: 'Lists the topics of event tail, the meaning of their keys, and the capability that each needs.',
  flags: [],
  takes: NO_ARGUMENTS,
  async run({ terminal }) {
    terminal.print(table([['Topic', 'Keys', 'Capability'], ...TOPICS]));
    return 0;
  },
};
