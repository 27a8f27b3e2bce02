import { ConfiguredFlags, loadAgentConfig } from '../agent/agent-config.js';
import { agentStart } from '../agent/agent-start.js';
import type { OfflineCommand } from '../command-spec.js';

/** Validates configuration files without starting an agent (CL-935). */
export const command: OfflineCommand = {
  offline: true,
  usage: '<path>…',
  description:
    'Checks whether an agent would start with these files and directories as its -config, and otherwise shows ' +
    'the errors.',
  flags: [],
  takes: {
    min: 1,
    max: Number.POSITIVE_INFINITY,
    otherwise: 'Must specify at least one config file or directory',
  },
  async run({ args, terminal }) {
    const config = await loadAgentConfig(args);
    agentStart(new ConfiguredFlags(undefined, config), '');
    if (config.idle.length > 0) terminal.warn(`Without effect here: ${config.idle.join(', ')}`);
    terminal.print('Configuration is valid!');
    return 0;
  },
};
