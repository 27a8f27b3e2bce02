import { allocationOfJob } from '../allocations/allocation-of-job.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { ArgumentFailure, CommandFailure, failed, isInterrupt } from '../failure.js';
import { BYTES_PER_LINE, fromLastLines } from '../terminal/last-lines.js';
import { fileBytes } from '../allocations/log-frames.js';
import { DEFAULT_LINES, END_FLAGS, OF_JOB_FLAGS } from '../flags/reading-flags.js';
import { ALLOCATION, resolveUuid } from '../server/resolve-uuid.js';
import { formatBytes } from '../terminal/sizes.js';
import { table } from '../terminal/table.js';

/** A file in a response of `/v1/client/fs/…`. */
interface FileInfo {
  readonly Name: string;
  readonly IsDir: boolean;
  readonly Size: number;
  readonly FileMode: string;
  readonly ModTime: string;
  readonly ContentType?: string;
}

/** Shows a directory, or the content or details of a file (CL-421). */
export const command: ServerCommand = {
  usage: '<allocation> [<path>]',
  alias: 'fs',
  description:
    "Shows a directory or a file of an allocation, by default the allocation's directory.\n\nNeeds the capability " +
    'read-fs.',
  flags: [
    { name: 'H', kind: 'switch', help: 'Show sizes in bytes.' },
    { name: 'stat', kind: 'switch', help: "Show the file's details instead of its contents." },
    { name: 'f', kind: 'switch', help: 'Follow the file until interrupted.' },
    ...END_FLAGS,
    ...OF_JOB_FLAGS,
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: 2, otherwise: 'This command takes one or two arguments: <allocation> [<path>]' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, args } = call;
  const [given, path = '/'] = args;
  if (given === undefined)
    throw new ArgumentFailure(flags.on('job') ? 'A job ID is required' : 'An allocation ID is required');
  const [lines, bytes] = [flags.integer('n'), flags.integer('c')];
  if (lines !== undefined && bytes !== undefined) throw new CommandFailure('Both -n and -c are not allowed');
  if ((lines ?? 0) < -1 || (bytes ?? 0) < -1) throw new CommandFailure('Invalid size is specified');
  const stub = flags.on('job')
    ? await allocationOfJob(call, given)
    : await resolveUuid(
        call.api,
        { ...ALLOCATION, tooShort: 'Alloc ID must contain at least two characters.' },
        given,
        Display.of(call),
      );
  const at = { api: call.api.within({ namespace: stub.Namespace }), id: stub.ID, path };
  const { value: file } = await at.api
    .get<FileInfo>(`/v1/client/fs/stat/${at.id}`, { path })
    .catch((error: unknown) => {
      throw failed('querying the file', error);
    });
  if (flags.on('stat')) call.terminal.print(table([HEADER_OF_ONE, row(file, flags.on('H'), true)]));
  else if (file.IsDir) await showDirectory(call, at);
  else await showFile(call, at, lines, bytes);
  return 0;
}

interface Place {
  readonly api: Call['api'];
  readonly id: string;
  readonly path: string;
}

const HEADER = ['Mode', 'Size', 'Modified Time', 'Name'];
const HEADER_OF_ONE = ['Mode', 'Size', 'Modified Time', 'Content Type', 'Name'];

function row(file: FileInfo, exact: boolean, withType: boolean): string[] {
  return [
    file.FileMode,
    exact ? String(file.Size) : formatBytes(file.Size),
    file.ModTime,
    ...(withType ? [file.ContentType ?? ''] : []),
    file.IsDir ? `${file.Name}/` : file.Name,
  ];
}

async function showDirectory({ terminal, flags }: Call, { api, id, path }: Place): Promise<void> {
  const { value } = await api.get<FileInfo[]>(`/v1/client/fs/ls/${id}`, { path }).catch((error: unknown) => {
    throw failed('listing the directory', error);
  });
  terminal.print(table([HEADER, ...value.map((file) => row(file, flags.on('H'), false))]));
}

/** Prints a file. Its bytes are not changed. */
async function showFile(
  call: Call,
  { api, id, path }: Place,
  lines: number | undefined,
  bytes: number | undefined,
): Promise<void> {
  const { flags } = call;
  const follow = flags.on('f');
  const count = flags.on('tail') && bytes === undefined ? Math.max(0, lines ?? DEFAULT_LINES) : undefined;
  const fromEnd = flags.on('tail') ? Math.max(0, bytes ?? (count ?? 0) * BYTES_PER_LINE) : undefined;
  const wanted =
    fromEnd === undefined
      ? { path, follow, origin: 'start', offset: 0 }
      : { path, follow, origin: 'end', offset: fromEnd };
  try {
    const { body } = await api.stream(`/v1/client/fs/stream/${id}`, wanted);
    const shown = count === undefined ? fileBytes(body) : fromLastLines(fileBytes(body), count, follow, call.sleep);
    for await (const chunk of shown) await call.terminal.bytes(chunk, 'stdout');
  } catch (error) {
    if (!isInterrupt(error)) throw failed('reading the file', error);
    if (!follow) throw error;
  }
}
