import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { Duplex } from 'node:stream';
import { Slots } from '@waybill/model';
import { isErrno, type ProcessIdentity } from '@waybill/processes';
import { openFound } from '../../paths/plain-file.store.js';
import type { UserIds } from '../user-ids.js';
import { inNetwork } from './in-network.js';
import { TAKE_ENVIRONMENT } from './task-environment.js';
import { below } from '../../paths/path-name.js';

/**
 * What the process of a task does just before it becomes the task: says who it is, as the machine sees it (its pid inside
 * a namespace is another), is put into its cgroups, goes to its directory, and tells that the task runs.
 * `begin PROC DIR PLACE COMMAND…`: `PROC` is where the machine's own /proc is, `PLACE` other than `-`: wait until the
 * agent has placed it. Descriptors: 3 to the agent, 7 the record. `ready` is for whoever has more to do at the last moment,
 * `become` for whoever becomes the command in another way.
 */
export const BEGIN = `
started() { ticks=\${20}; }
ready() { :; }
become() { exec "$@"; }
begin() {
  read -r stat < "$1/self/stat"; read -r boot < "$1/sys/kernel/random/boot_id"
  pid=\${stat%% *}; place=$3
  started \${stat##*) }
  cd "$2" || exit 1
  shift 3
  echo "\${pid:-$$} \${ticks:--} \${boot:--} end" >&7 || exit 1
  [ "$place" != - ] && echo >&3 && read -r _ <&3
  echo >&3; echo started >&7; exec 3>&- 7>&-
  ready
  become "$@"
}
`;

/** Where what has to be done before a task starts says why it failed. */
export const TROUBLE_FILE = 'trouble';

/**
 * How a task becomes one that runs as it is, with the variables that were carried (task-environment.ts). `adj`: its
 * `oom_score_adj`, or `-` for that of the agent.
 */
const AS_IT_IS = `${BEGIN}
become() { ${TAKE_ENVIRONMENT}; exec "$@"; }
run=$1; adj=$2; shift 2
if [ "$adj" != - ] && ! { echo "$adj" > /proc/self/oom_score_adj; } 2>/dev/null; then
  echo "oom_score_adj cannot be $adj on this machine" > "$run/${TROUBLE_FILE}"
  exit 1
fi
begin /proc . "$@"`;

/**
 * The shell that stands between agent and task, so that a task outlives the agent and its exit code is not lost.
 *
 * It claims the run directory (`begun`, created once or not at all), starts the task in a session of its own, waits,
 * kills what the task left behind in its process group, and writes the exit code. A task runs in the foreground of
 * the shell, because a shell's background jobs are born with SIGINT ignored. Files end with `end`: one without it was
 * torn. Descriptor 3 tells the agent that the task runs, 4 and 5 are the task's output. With `place`, the task waits over
 * 3 until the agent has put it into its cgroup. If the agent is gone by then, the task does not start (`hasStarted`). Memory: one sleeping shell. It
 * uses no program but the shell and `setsid`.
 */
const SUPERVISOR = `
run=$1; setsid=$2; shift 2
set -C; : > "$run/begun" || exit 1
set +C
"$setsid" "$@" </dev/null >&4 2>&5 4>&- 5>&- 7> "$run/process"
code=$?
read -r pid _ < "$run/process" && kill -s KILL -- "-$pid"
echo "$code end" > "$run/exit"
`;

/** Where the two programs may be; the first that exists is taken. */
const SETSID_PATHS = ['/usr/bin/setsid', '/bin/setsid', '/usr/local/bin/setsid'];

/** Of what is written in a run's directory, the beginning counts. */
const MAX_RECORD_BYTES = 4_096;

/** How long the supervisor may take to start the command. */
export const START_TIMEOUT_MS = 10_000;

/**
 * Tasks that this agent starts at once; the others wait, and their START_TIMEOUT_MS has not begun. Hundreds of forks at once
 * stop the agent for longer than any of these starts may take.
 */
export const MAX_STARTS_AT_ONCE = 16;
const starts = new Slots(MAX_STARTS_AT_ONCE);

export interface RunSpec {
  /** Of this one start; nobody else writes into it. */
  readonly runDir: string;
  /** A command line that ends in BEGIN (see asItIs), or becomes one that does; inherits descriptors 3 and 7. */
  readonly commandLine: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Open descriptors for the task's output. */
  readonly stdout: number;
  readonly stderr: number;
  readonly uid?: number;
  readonly gid?: number;
  /** Path of the network namespace that all of it runs in; absent: that of the agent. */
  readonly networkNamespace?: string;
  /** Where the task belongs, and how it gets there once it has a pid; absent: nowhere. */
  readonly cgroup?: { readonly place: (pid: number) => void };
}

/** This machine cannot start supervised tasks. */
export class NoSetsidError extends Error {
  override readonly name = 'NoSetsidError';
  constructor() {
    super(`raw_exec needs the program setsid (util-linux), looked for at ${SETSID_PATHS.join(', ')}`);
  }
}

export const findSetsid = (): string | undefined => SETSID_PATHS.find((file) => existsSync(file));

export interface AsItIs {
  readonly runDir: string;
  /** Whether the agent puts it into a cgroup. */
  readonly placed: boolean;
  /** Absent: that of the agent. */
  readonly oomScoreAdj?: number | undefined;
}

/** A command that runs in the view of the machine that the agent has. */
export const asItIs = (
  { runDir, placed: isPlaced, oomScoreAdj }: AsItIs,
  command: readonly string[],
): [string, ...string[]] => [
  '/bin/sh',
  '-c',
  AS_IT_IS,
  'sh',
  runDir,
  oomScoreAdj === undefined ? '-' : String(oomScoreAdj),
  isPlaced ? 'place' : '-',
  ...command,
];

/**
 * Starts a command under a supervisor and resolves once it runs; the supervisor is a child of this process, and if this
 * process ends, an orphan that goes on.
 * Waits while MAX_STARTS_AT_ONCE other tasks are starting.
 * @throws NoSetsidError, or an error that says what the system said
 */
export function supervise(spec: RunSpec): Promise<ChildProcess> {
  return starts.use(() => superviseAtOnce(spec));
}

async function superviseAtOnce(spec: RunSpec): Promise<ChildProcess> {
  const setsid = findSetsid();
  if (setsid === undefined) throw new NoSetsidError();
  await mkdir(spec.runDir, { recursive: true, mode: 0o755 });
  const shell = ['-c', SUPERVISOR, 'waybill-task', spec.runDir, setsid, ...spec.commandLine];
  const { file, args, user } = inNetwork(spec.networkNamespace, { file: '/bin/sh', args: shell, user: userOf(spec) });
  const child = spawn(file, args, {
    cwd: spec.cwd,
    env: { ...spec.env },
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', spec.stdout, spec.stderr],
    ...user,
  });
  await once(child, 'spawn');
  await running(child, spec);
  child.unref();
  return child;
}

const userOf = ({ uid, gid }: RunSpec): UserIds | undefined =>
  uid === undefined || gid === undefined ? undefined : { uid, gid };

async function running(child: ChildProcess, { runDir, cgroup }: RunSpec): Promise<void> {
  const ready = child.stdio[3];
  if (!(ready instanceof Duplex)) throw new TypeError('the supervisor has no pipe to tell that the task runs');
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`the task did not start within ${START_TIMEOUT_MS} ms`)),
        START_TIMEOUT_MS,
      );
      let waitsForPlace = cgroup !== undefined;
      ready.on('data', () => {
        if (!waitsForPlace) return resolve();
        waitsForPlace = false;
        placed(runDir, cgroup)
          .then(() => ready.write('\n'))
          .catch(reject);
      });
      ready.once('error', reject);
      child.once('exit', () => resolve()); // then the exit record says how it went
    });
  } finally {
    clearTimeout(timer);
    ready.destroy();
  }
}

async function placed(runDir: string, cgroup: RunSpec['cgroup']): Promise<void> {
  const identity = await processOf(runDir);
  if (identity) cgroup?.place(identity.pid);
}

/** The process of a run, once it runs. */
export async function processOf(runDir: string): Promise<ProcessIdentity | undefined> {
  const [pid, startTicks, bootId] = await record(below(runDir, 'process'));
  return pid === undefined || startTicks === undefined || bootId === undefined
    ? undefined
    : { pid: Number(pid), startTicks, bootId };
}

/** The second line of a run's record: everything before the task's own command is done. */
const STARTED = 'started';

/**
 * Whether a run has come to its task's own command. An agent that goes, or gives up the start, before it has been told that
 * the task runs closes the pipe, and the run ends there: its exit is not that of the task.
 */
export async function hasStarted(runDir: string): Promise<boolean> {
  return (await beginningOf(below(runDir, 'process'))).split('\n')[1] === STARTED;
}

/** Why a run never became its task, if something said so. */
export async function troubleOf(runDir: string): Promise<string | undefined> {
  return (await beginningOf(below(runDir, TROUBLE_FILE))).trim() || undefined;
}

/** The exit code of a run, once it ended: 128 + signal for a process that a signal killed. */
export async function exitCodeOf(runDir: string): Promise<number | undefined> {
  const [code] = await record(below(runDir, 'exit'));
  return code === undefined ? undefined : Number(code);
}

/**
 * Takes a run's directory so that a supervisor which has not begun never will (AG-440).
 * @returns false when the supervisor had begun
 */
export async function claimUnbegun(runDir: string): Promise<boolean> {
  await mkdir(runDir, { recursive: true });
  try {
    await (await open(below(runDir, 'begun'), 'wx')).close();
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

/** The name of a new run, which a later agent can read its allocation from. */
export const newRun = (allocId: string): string => `${allocId}.${randomBytes(6).toString('hex')}`;

export const allocOfRun = (run: string): string => run.slice(0, run.lastIndexOf('.'));

export const removeRun = (runDir: string): Promise<void> => rm(runDir, { recursive: true, force: true });

/** The words of a record, or none while it is not complete. */
async function record(file: string): Promise<string[]> {
  const words = (await beginningOf(file)).split('\n')[0]?.split(' ') ?? [];
  return words.at(-1) === 'end' ? words.slice(0, -1) : [];
}

/**
 * What is written in a run's directory. That may be the task's user's: whatever else he has put there, or more of it, is
 * not waited for and counts as nothing, and so does what cannot be read.
 */
async function beginningOf(name: string): Promise<string> {
  try {
    const { file } = await openFound(name);
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_RECORD_BYTES), 0, MAX_RECORD_BYTES, 0);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}
