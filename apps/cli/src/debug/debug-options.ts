import { formatDuration } from '@waybill/model/duration';
import { NS_PER_MS } from '@waybill/model/clock';
import { CommandFailure } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

const DEFAULT_DURATION_MS = 300_000;
const DEFAULT_INTERVAL_MS = 30_000;
const DEFAULT_MAX_NODES = 10;
const ALL = 'all';

/** `operator debug` takes Nomad's flags with Nomad's defaults; the flags of profiles have no effect (CL-807). */
export const DEBUG_FLAGS: readonly Flag[] = [
  {
    name: 'duration',
    kind: 'duration',
    value: 'time',
    help: 'Time for which logs and events are followed (default 5m).',
  },
  {
    name: 'interval',
    kind: 'duration',
    value: 'time',
    help: 'Interval between captures of lists and metrics (default 30s).',
  },
  { name: 'log-level', kind: 'text', value: 'level', help: 'Log level of the captured logs (default TRACE).' },
  {
    name: 'log-include-location',
    kind: 'switch',
    help: 'Include the place in the code of each line. On unless =false.',
  },
  { name: 'max-nodes', kind: 'integer', value: 'n', help: 'Number of nodes (default 10, 0 for all).' },
  { name: 'node-id', kind: 'text', value: 'id,…', help: 'Prefixes of node IDs (default: all).' },
  { name: 'node-class', kind: 'text', value: 'class', help: 'Only nodes of this class.' },
  { name: 'server-id', kind: 'text', value: 'name,…', help: 'Prefixes of server names, or leader (default: all).' },
  { name: 'event-topic', kind: 'text', value: 'topic,…', help: 'Events of these topics, or all; default none.' },
  { name: 'event-index', kind: 'integer', value: 'index', help: 'Events from this index on.' },
  {
    name: 'pprof-duration',
    kind: 'duration',
    value: 'time',
    help: 'Profiles are not available. Accepted for scripts.',
  },
  {
    name: 'pprof-interval',
    kind: 'duration',
    value: 'time',
    help: 'Profiles are not available. Accepted for scripts.',
  },
  { name: 'stale', kind: 'switch', help: 'Any server may answer, which is always the case here.' },
  { name: 'output', kind: 'text', value: 'dir', help: 'Write a directory below this one instead of an archive.' },
  { name: 'verbose', kind: 'switch', help: 'List every file.' },
];

export interface DebugOptions {
  readonly durationMs: number;
  readonly intervalMs: number;
  readonly logLevel: string;
  readonly logLocation: boolean;
  /** Prefixes of node IDs. Empty for all nodes. */
  readonly nodes: readonly string[];
  readonly nodeClass: string | undefined;
  readonly maxNodes: number;
  /** Prefixes of server names, or `leader`. Empty for all servers. */
  readonly servers: readonly string[];
  /** Topics of the event stream. Empty for no events. */
  readonly topics: readonly string[];
  readonly eventIndex: number;
}

/** @throws CommandFailure */
export function debugOptions(flags: ParsedFlags): DebugOptions {
  const durationMs = flags.durationMs('duration') ?? DEFAULT_DURATION_MS;
  const intervalMs = flags.durationMs('interval') ?? Math.min(DEFAULT_INTERVAL_MS, durationMs);
  if (durationMs <= 0 || intervalMs <= 0) throw new CommandFailure('-duration and -interval must be above 0');
  if (intervalMs > durationMs)
    throw new CommandFailure(
      `-interval ${formatDuration(intervalMs * NS_PER_MS)} is above -duration ${formatDuration(durationMs * NS_PER_MS)}`,
    );
  const maxNodes = flags.integer('max-nodes') ?? DEFAULT_MAX_NODES;
  if (maxNodes < 0) throw new CommandFailure('-max-nodes must not be below 0');
  return {
    durationMs,
    intervalMs,
    logLevel: flags.text('log-level') ?? 'TRACE',
    logLocation: flags.on('log-include-location') || !flags.given('log-include-location'),
    nodes: chosen(flags.text('node-id')),
    nodeClass: flags.text('node-class'),
    maxNodes,
    servers: chosen(flags.text('server-id')),
    topics: topicsOf(flags.text('event-topic') ?? 'none'),
    eventIndex: flags.integer('event-index') ?? 0,
  };
}

function chosen(text = ALL): readonly string[] {
  const names = namesIn(text);
  return names.includes(ALL) ? [] : names;
}

function topicsOf(text: string): readonly string[] {
  if (text === 'none') return [];
  return text === ALL ? ['*'] : namesIn(text);
}

const namesIn = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
