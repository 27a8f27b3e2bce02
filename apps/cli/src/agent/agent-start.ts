import type { Environment } from '../server/environment.js';
import path from 'node:path';
import type { AgentFlags } from './agent-config.js';
import { CommandFailure } from '../failure.js';

/** The part that is started: everything on this machine, a machine that runs tasks, or a server. */
export type AgentMode = 'dev' | 'client' | 'server';

/** How a part of the system is started as its own program (CL-921). */
export interface AgentStart {
  readonly mode: AgentMode;
  /** The app that contains the program. */
  readonly app: 'dev' | 'agent';
  readonly arguments: readonly string[];
  /** Variables in addition to those of this process. */
  readonly env: Environment;
  /** Address of its API. Null if it has none. */
  readonly address: string | null;
  readonly logLevel: string;
  readonly logJson: boolean;
  /** Names and values that are shown to the user (CL-923). */
  readonly shown: readonly (readonly [string, string])[];
}

const DEFAULT_PORT = 4646;
const DEFAULT_HOST = '127.0.0.1';

/** Flags that correspond to one setting of the services, with the same format. */
const SETTINGS: Readonly<Record<string, string>> = {
  dc: 'WAYBILL_DATACENTER',
  node: 'WAYBILL_NODE_NAME',
  'node-class': 'WAYBILL_NODE_CLASS',
  'node-pool': 'WAYBILL_NODE_POOL',
  'client-intro-token': 'WAYBILL_CLIENT_INTRO_TOKEN',
  'driver-allowlist': 'WAYBILL_DRIVER_ALLOWLIST',
  'driver-denylist': 'WAYBILL_DRIVER_DENYLIST',
  'plugin-dir': 'WAYBILL_PLUGIN_DIR',
  plugins: 'WAYBILL_PLUGINS',
  nats: 'WAYBILL_NATS_URL',
  database: 'WAYBILL_DATABASE_URL',
  region: 'WAYBILL_REGION',
  'default-scheduler-config': 'WAYBILL_DEFAULT_SCHEDULER_CONFIG',
};

/** Flags of Nomad's agent without effect, because there is no raft, gossip or catalogue (CL-922). */
export const WITHOUT_EFFECT: readonly string[] = [
  'bootstrap-expect',
  'encrypt',
  'raft-protocol',
  'join',
  'retry-join',
  'retry-max',
  'retry-interval',
  'rejoin',
  'servers',
  'network-interface',
  'consul-address',
  'vault-address',
];

/**
 * Interprets the flags of `agent`, or the settings of files. Pure.
 * @param temporaryDirectory data directory of a `-dev` run without a directory of its own
 * @throws CommandFailure
 */
export function agentStart(flags: AgentFlags, temporaryDirectory: string): AgentStart {
  const mode = modeOf(flags);
  const dataDir = flags.text('data-dir') ?? (mode === 'dev' ? temporaryDirectory : undefined);
  if (dataDir === undefined) throw new CommandFailure('Must specify "data_dir" config option or "data-dir" CLI flag');
  const host = flags.text('bind') ?? DEFAULT_HOST;
  const port = flags.integer('http-port') ?? DEFAULT_PORT;
  const logLevel = (flags.text('log-level') ?? (flags.on('dev') ? 'debug' : 'info')).toLowerCase();
  const meta = metaOf(flags.list('meta'));
  const settings = Object.entries(SETTINGS).flatMap(([flag, name]) => {
    const value = flags.text(flag);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    mode,
    app: mode === 'client' ? 'agent' : 'dev',
    arguments: mode === 'client' ? [] : launcherArguments(mode, port, dataDir, !flags.given('data-dir')),
    env: {
      ...Object.fromEntries(settings),
      ...(meta === '' ? {} : { WAYBILL_NODE_META: meta }),
      WAYBILL_LOG_LEVEL: logLevel,
      WAYBILL_LOG_FORMAT: flags.on('log-json') ? 'json' : 'line',
      WAYBILL_HTTP_HOST: host,
      ...(mode === 'client' ? { WAYBILL_AGENT_DIR: path.join(dataDir, 'agent') } : {}),
    },
    address: mode === 'client' ? null : `http://${addressOf(host, port)}`,
    logLevel,
    logJson: flags.on('log-json'),
    shown: [
      ['Advertise Addrs', mode === 'client' ? '' : `HTTP: ${addressOf(host, port)}`],
      ['Bind Addrs', mode === 'client' ? '' : `HTTP: ${addressOf(host, port)}`],
      ['Client', String(mode !== 'server')],
      ['Log Level', logLevel.toUpperCase()],
      ['Region', `${flags.text('region') ?? 'global'} (DC: ${flags.text('dc') ?? 'dc1'})`],
      ['Server', String(mode !== 'client')],
    ],
  };
}

const addressOf = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** @throws CommandFailure */
function modeOf(flags: AgentFlags): AgentMode {
  const [dev, server, client] = [flags.on('dev'), flags.on('server'), flags.on('client')];
  if (dev || (server && client)) return 'dev';
  if (server) return 'server';
  if (client) return 'client';
  throw new CommandFailure('Must specify either server, client or dev mode for the agent.');
}

/** @throws CommandFailure */
function metaOf(pairs: readonly string[]): string {
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 0) throw new CommandFailure(`Error parsing Client.Meta value: ${pair}`);
    if (at === 0) throw new CommandFailure(`Invalid Client.Meta key: ${pair.slice(0, at)}`);
  }
  return pairs.join(',');
}

const launcherArguments = (mode: AgentMode, port: number, dataDir: string, fresh: boolean): string[] => [
  `--port=${port}`,
  `--data-dir=${dataDir}`,
  '--empty',
  ...(fresh ? ['--fresh'] : []),
  ...(mode === 'server' ? ['--no-agent'] : []),
];
