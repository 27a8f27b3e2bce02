import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfiguredFlags, loadAgentConfig } from '../agent/agent-config.js';
import { AGENT_LOG_FLAGS, MACHINE_FLAGS } from '../agent/agent-flags.js';
import { inForeground } from '../agent/agent-foreground.js';
import { agentStart, WITHOUT_EFFECT } from '../agent/agent-start.js';
import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';

export const command: ServerCommand = {
  usage: '',
  description:
    'Starts a part of Waybill in the foreground. -dev starts everything with a log and a database of its own, in -data-dir ' +
    'or a temporary directory. -server starts the services with the log and database of -nats and -database, or their ' +
    'own. -client starts the agent that runs tasks on this machine.\n\nCtrl-C stops it in order, a second Ctrl-C at once.',
  flags: [
    { name: 'dev', kind: 'switch', help: 'Run everything in one process.' },
    { name: 'server', kind: 'switch', help: 'Run the services.' },
    { name: 'client', kind: 'switch', help: 'A node agent.' },
    {
      name: 'config',
      kind: 'list',
      value: 'file|dir',
      help: 'Settings from a file in HCL or JSON, or all of a directory. May be repeated; the last one wins, flags win over all.',
    },
    { name: 'bind', kind: 'text', value: 'address', help: 'Address of the API.' },
    { name: 'http-port', kind: 'integer', value: 'port', help: 'Port of the API; default 4646.' },
    { name: 'data-dir', kind: 'text', value: 'dir', help: 'Data directory.' },
    ...MACHINE_FLAGS,
    {
      name: 'driver-allowlist',
      kind: 'text',
      value: 'names',
      help: 'The only drivers that run, with commas between; the option driver.allowlist of a file.',
    },
    {
      name: 'driver-denylist',
      kind: 'text',
      value: 'names',
      help: 'Drivers that do not run; the option driver.denylist of a file.',
    },
    { name: 'plugin-dir', kind: 'text', value: 'dir', help: 'Directory of external plugins.' },
    {
      name: 'plugins',
      kind: 'text',
      value: 'json',
      help: 'External plugins; the plugin blocks of a file. WAYBILL_PLUGINS.',
    },
    { name: 'nats', kind: 'text', value: 'url', help: 'NATS. WAYBILL_NATS_URL.' },
    { name: 'database', kind: 'text', value: 'url', help: 'PostgreSQL. WAYBILL_DATABASE_URL.' },
    {
      name: 'default-scheduler-config',
      kind: 'text',
      value: 'json',
      help: 'Scheduler configuration of a new cluster; server.default_scheduler_config of a file. Ignored once the cluster has one.',
    },
    ...AGENT_LOG_FLAGS,
    ...WITHOUT_EFFECT.map(
      (name) => ({ name, kind: 'text', value: 'value', help: 'Accepted; has no effect.' }) as const,
    ),
  ],
  takes: NO_ARGUMENTS,
  run,
};

/** Runs a part of the system in the foreground until a signal, configured by flags and files (CL-921 to CL-924). */
async function run(call: Call): Promise<number> {
  const { flags, terminal } = call;
  const config = await loadAgentConfig(flags.list('config'));
  const idle = [...WITHOUT_EFFECT.filter((name) => flags.given(name)).map((name) => `-${name}`), ...config.idle];
  if (idle.length > 0) terminal.warn(`Without effect here: ${idle.join(', ')}`);
  const temporary = path.join(tmpdir(), `waybill-dev-${process.pid}`);
  const start = agentStart(new ConfiguredFlags(flags, config), temporary);
  try {
    return await inForeground(call, start, config.files);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
