import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NS_PER_MS } from '@waybill/model/clock';
import { makeDirectory } from '@waybill/processes';
import { formatDuration } from '@waybill/model/duration';
import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DebugCapture } from '../debug/debug-capture.js';
import { DebugFolder } from '../debug/debug-folder.js';
import { DEBUG_FLAGS, debugOptions, type DebugOptions } from '../debug/debug-options.js';
import { type DebugTargets, debugTargets } from '../debug/debug-targets.js';
import { exactOf } from '../terminal/exact-json.js';
import { causeOf, CommandFailure } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import { GLOBAL_FLAGS } from '../flags/global-flags.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { WAYBILL_VERSION } from '@waybill/model/version';

/** Exit code if the data was captured but could not be written. */
const NOT_WRITTEN = 2;
const SECRET_FLAGS: ReadonlySet<string> = new Set(['token', 'client-key']);

/** Captures the state of a cluster into an archive or a directory (CL-807, CL-808). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Captures data for the diagnosis of a cluster over some time: its objects, its metrics, the logs of servers and nodes, ' +
    'and its events. Writes an archive to the current directory, or a directory with -output. Its index.json lists ' +
    'missing data. Ctrl-C ends the capture early.\n\nThe archive contains job definitions with their environment: ' +
    'check it before you pass it on.\n\nNeeds the capabilities agent:read, node:read, ' +
    'operator:read and read-job in all namespaces.',
  flags: DEBUG_FLAGS,
  takes: NO_ARGUMENTS,
  run,
};

async function run(call: Call): Promise<number> {
  const { api, clock, flags, terminal, interrupts } = call;
  const options = debugOptions(flags);
  const name = `${call.program}-debug-${stamp(clock.nowMs())}`;
  const output = flags.text('output');
  const target = output === undefined ? `${name}.tar.gz` : path.join(output, name);
  if (existsSync(target))
    throw new CommandFailure(`Output ${output === undefined ? 'file' : 'directory'} already exists`, NOT_WRITTEN);
  const everywhere = api.connection.namespace === undefined ? api.within({ namespace: '*' }) : api;
  const targets = await debugTargets(everywhere, options);
  describeCapture(call, options, targets);

  const parent = output ?? (await writing(mkdtemp(path.join(tmpdir(), 'waybill-debug-'))));
  try {
    const folder = new DebugFolder(path.join(parent, name));
    await writing(makeDirectory(folder.root, { otherwise: 'choose another directory with -output' }));
    const note = (text: string) => terminal.note(text);
    const capture = new DebugCapture(options, targets, {
      api: everywhere,
      folder,
      nowMs: () => clock.nowMs(),
      sleep: call.sleep,
      note,
    });
    interrupts.takeOver(() => {
      if (capture.isOver) return interrupts.abort();
      note('\nInterrupted: what is captured so far is written');
      capture.end();
    });
    await writing(folder.json(['cluster', 'cli-flags.json'], exactOf(flagsGiven(flags))));
    await writing(capture.captureAll());
    await writing(folder.close({ Version: WAYBILL_VERSION, Captured: name }));
    tellFiles(call, folder);
    if (output === undefined) await writing(packed(target, parent, name));
  } finally {
    if (output === undefined) await rm(parent, { recursive: true, force: true });
  }
  terminal.print(`Created debug ${output === undefined ? 'archive' : 'directory'}: ${target}`);
  return 0;
}

async function packed(file: string, parent: string, name: string): Promise<void> {
  const { create } = await import('tar');
  await create({ gzip: true, portable: true, cwd: parent, file }, [name]);
}

/** @throws CommandFailure with exit code 2 */
async function writing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`Error writing debug capture: ${causeOf(error)}`, NOT_WRITTEN);
  }
}

function describeCapture({ terminal }: Call, options: DebugOptions, targets: DebugTargets): void {
  const { durationMs, intervalMs, topics } = options;
  const rows: readonly (readonly [string, string])[] = [
    ['Servers', `(${targets.servers.length}/${targets.serversFound}) ${targets.servers.join(' ')}`],
    ['Clients', `(${targets.nodes.length}/${targets.nodesFound}) ${targets.nodes.map(({ Name }) => Name).join(' ')}`],
    ['Interval', formatDuration(intervalMs * NS_PER_MS)],
    ['Duration', formatDuration(durationMs * NS_PER_MS)],
    ['Event Stream', topics.length === 0 ? 'none' : topics.join(' ')],
  ];
  terminal.note('Starting debugger...\n');
  for (const [name, value] of rows) terminal.note(`${name.padStart(14)}: ${value.trimEnd()}`);
  terminal.note('');
}

/** Prints the number of files, and the files that are incomplete. */
function tellFiles({ flags, terminal }: Call, { files }: DebugFolder): void {
  if (flags.on('verbose')) for (const { path: file } of files) terminal.note(`  ${file}`);
  const missing = files.filter((file) => file.missing !== undefined);
  terminal.note(`Captured ${files.length - missing.length} of ${files.length} files`);
  for (const { path: file, missing: why } of missing) terminal.note(`  not captured: ${file} (${why})`);
}

/** Returns the given flags without secrets (CL-128). */
function flagsGiven(flags: ParsedFlags): Readonly<Record<string, unknown>> {
  const all = [...GLOBAL_FLAGS, ...DEBUG_FLAGS].filter(({ name }) => flags.given(name));
  return Object.fromEntries(
    all.map((flag) => [flag.name, SECRET_FLAGS.has(flag.name) ? '<redacted>' : withoutUser(valueOf(flags, flag))]),
  );
}

function valueOf(flags: ParsedFlags, { name, kind }: Flag): unknown {
  switch (kind) {
    case 'switch':
      return flags.on(name);
    case 'integer':
      return flags.integer(name);
    case 'duration':
      return formatDuration((flags.durationMs(name) ?? 0) * NS_PER_MS);
    case 'list':
      return flags.list(name);
    case 'text':
    default:
      return flags.text(name);
  }
}

/** Removes the user and password from an address. */
const withoutUser = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/^(\w+:\/\/)[^/]*@/, '$1<redacted>@') : value;

/** Formats a time in UTC, without characters that file names cannot contain. */
const stamp = (nowMs: number): string =>
  `${new Date(nowMs).toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '')}Z`;
