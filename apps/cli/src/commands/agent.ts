import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { logOfAgent } from '../agent/agent-log.js';
import { ConfiguredFlags, loadAgentConfig } from '../agent/agent-config.js';
import { AgentProcess } from '../agent/agent-process.js';
import { type AgentStart, agentStart, WITHOUT_EFFECT } from '../agent/agent-start.js';
import type { ApiClient } from '../server/api-client.js';
import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { causeOf, isInterrupt } from '../failure.js';
import { WAYBILL_VERSION } from '@waybill/model/version';

/** How often a part that starts is asked whether it is up. */
const POLL_MS = 250;
/** Of the names of what is shown. */
const NAME_COLUMNS = 18;

export const command: ServerCommand = {
  usage: '',
  description:
    'Starts a part of Waybill in the foreground. -dev: everything, with a log and a database of its own, in a temporary ' +
    'directory unless -data-dir says where. -server: the services, with the log and the database that -nats and -database ' +
    'name (their own ones otherwise). -client: what runs tasks on this machine.\n\nCtrl-C stops it in order; once more, at once.',
  flags: [
    { name: 'dev', kind: 'switch', help: 'Everything in one process.' },
    { name: 'server', kind: 'switch', help: 'The services.' },
    { name: 'client', kind: 'switch', help: 'A node agent.' },
    {
      name: 'config',
      kind: 'list',
      value: 'file|dir',
      help: 'Settings from a file in HCL or JSON, or all of a directory. May be repeated; the last one wins, flags win over all.',
    },
    { name: 'bind', kind: 'text', value: 'address', help: 'Address of the API.' },
    { name: 'http-port', kind: 'integer', value: 'port', help: 'Port of the API; default 4646.' },
    { name: 'data-dir', kind: 'text', value: 'dir', help: 'Where everything is kept.' },
    { name: 'dc', kind: 'text', value: 'name', help: 'Datacenter of this machine.' },
    { name: 'node', kind: 'text', value: 'name', help: 'Name of this machine.' },
    { name: 'node-class', kind: 'text', value: 'class', help: 'Class of this machine.' },
    { name: 'node-pool', kind: 'text', value: 'pool', help: 'Pool this machine is in.' },
    { name: 'meta', kind: 'list', value: 'key=value', help: 'What jobs may constrain on.' },
    { name: 'nats', kind: 'text', value: 'url', help: 'NATS. WAYBILL_NATS_URL.' },
    { name: 'database', kind: 'text', value: 'url', help: 'PostgreSQL. WAYBILL_DATABASE_URL.' },
    {
      name: 'default-scheduler-config',
      kind: 'text',
      value: 'json',
      help: 'Scheduler configuration of a new cluster; server.default_scheduler_config of a file. Ignored once the cluster has one.',
    },
    { name: 'log-level', kind: 'text', value: 'level', help: 'trace, debug, info, warn or error.' },
    { name: 'log-json', kind: 'switch', help: 'Log lines as JSON.' },
    ...WITHOUT_EFFECT.map((name) => ({ name, kind: 'text', value: 'value', help: 'Without effect.' }) as const),
  ],
  takes: NO_ARGUMENTS,
  run,
};

/** CL-921 to CL-924. */
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

async function inForeground(call: Call, start: AgentStart, files: readonly string[]): Promise<number> {
  const { terminal, interrupts } = call;
  const loaded = files.length === 0 ? 'No configuration files loaded' : `Loaded configuration from ${files.join(', ')}`;
  terminal.print(`==> ${loaded}\n==> Waybill agent configuration:\n`);
  const shown = [...start.shown, ['Version', WAYBILL_VERSION] as const].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, value] of shown) terminal.print(`${name.padStart(NAME_COLUMNS)}: ${value}`);
  terminal.print('');
  const child = AgentProcess.start(start, call.env);
  const stop = (): void => child.stop();
  interrupts.takeOver(stop);
  process.on('SIGTERM', stop);
  try {
    const following = followLog(call, start, child).catch((error: unknown) => {
      if (!isInterrupt(error) && !child.isStopping) terminal.error(causeOf(error));
    });
    const code = await child.ended;
    interrupts.abort(); // nothing is left to follow
    await following;
    return code;
  } finally {
    process.off('SIGTERM', stop);
  }
}

const STARTED = '==> Waybill agent started! Log data will stream in below:\n';

async function followLog(call: Call, { address, logLevel, logJson }: AgentStart, child: AgentProcess): Promise<void> {
  const { terminal } = call;
  if (address === null) {
    terminal.print(STARTED);
    for await (const lines of child.log ?? []) await terminal.bytes(lines);
    return;
  }
  const api = call.api.at(address);
  while (!(await isUp(api))) await call.sleep(POLL_MS);
  terminal.print(STARTED);
  const query = { log_level: logLevel, log_json: logJson || undefined };
  for await (const lines of logOfAgent(api, query)) await terminal.bytes(lines);
}

async function isUp(api: ApiClient): Promise<boolean> {
  try {
    await api.get('/v1/agent/health');
    return true;
  } catch (error) {
    if (isInterrupt(error)) throw error;
    return false;
  }
}
