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
 * This shell code runs in the process of a task just before it becomes the task. It records the process's identity as
 * the machine sees it, because the pid inside a namespace differs. Then it is put into its cgroups, changes to its
 * directory, and reports that the task runs.
 * `begin PROC DIR PLACE COMMAND…`: `PROC` is the path of the machine's own /proc. If `PLACE` is not `-`, it waits until
 * the agent has placed it. Descriptors: 3 is the connection to the agent, 7 is the record. Callers may replace `ready`
 * to do more at the last moment, and `become` to become the command in another way.
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

/** The file in which a step before a task's start reports why it failed. */
export const TROUBLE_FILE = 'trouble';

/**
 * This program runs a task without isolation, with the carried variables (task-environment.ts). `adj` is its
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
 * This program is the supervisor: a shell between agent and task. With it a task outlives the agent, and its exit code
 * is not lost.
 *
 * It claims the run directory by creating `begun`, which succeeds only once. It starts the task in a session of its
 * own, waits, kills the remaining processes of the task's process group, and writes the exit code. The task runs in the
 * foreground of the shell, because a shell starts background jobs with SIGINT ignored. Files end with `end`; a file
 * without it is incomplete. Descriptor 3 tells the agent that the task runs, 4 and 5 are the task's output. With
 * `place`, the task waits over 3 until the agent has put it into its cgroup. If the agent is gone by then, the task
 * does not start (`hasStarted`). Memory: one sleeping shell. It uses no program but the shell and `setsid`.
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

/** The possible paths of setsid. The first that exists is used. */
const SETSID_PATHS = ['/usr/bin/setsid', '/bin/setsid', '/usr/local/bin/setsid'];

/** The largest number of bytes that are read of a file in a run's directory. */
const MAX_RECORD_BYTES = 4_096;

/** The time limit in milliseconds for a supervisor to start the command. */
export const START_TIMEOUT_MS = 10_000;

/**
 * The number of tasks that this agent starts at the same time. Other tasks wait, and their START_TIMEOUT_MS begins
 * later. Hundreds of forks at once would stop the agent for longer than any of these starts may take.
 */
export const MAX_STARTS_AT_ONCE = 16;
const starts = new Slots(MAX_STARTS_AT_ONCE);

export interface RunSpec {
  /** The directory of this start. Nothing else writes into it. */
  readonly runDir: string;
  /**
   * A command line that ends in BEGIN (see asItIs), or that becomes such a program. It inherits the descriptors 3 and
   * 7.
   */
  readonly commandLine: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Open descriptors for the task's output. */
  readonly stdout: number;
  readonly stderr: number;
  readonly uid?: number;
  readonly gid?: number;
  /** The path of the network namespace for supervisor and task; absent means that of the agent. */
  readonly networkNamespace?: string;
  /** Puts the task into its cgroup once it has a pid; absent if it has none. */
  readonly cgroup?: { readonly place: (pid: number) => Promise<void> };
}

/** NoSetsidError says that this machine cannot start supervised tasks. */
export class NoSetsidError extends Error {
  override readonly name = 'NoSetsidError';
  constructor() {
    super(`raw_exec needs the program setsid (util-linux), looked for at ${SETSID_PATHS.join(', ')}`);
  }
}

export const findSetsid = (): string | undefined => SETSID_PATHS.find((file) => existsSync(file));

export interface AsItIs {
  readonly runDir: string;
  /** Whether the agent puts the process into a cgroup. */
  readonly placed: boolean;
  /** Absent means that of the agent. */
  readonly oomScoreAdj?: number | undefined;
}

/** Returns a command line that runs a command without isolation. */
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
 * Starts a command under a supervisor and resolves once the command runs. The supervisor is a child of this process,
 * and continues as an orphan if this process ends. Waits while MAX_STARTS_AT_ONCE other tasks are starting.
 * @throws NoSetsidError, or an error with the system's message
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
        placeInCgroup(runDir, cgroup)
          .then(() => ready.write('\n'))
          .catch(reject);
      });
      ready.once('error', reject);
      child.once('exit', () => resolve()); // the exit record then shows the result
    });
  } finally {
    clearTimeout(timer);
    ready.destroy();
  }
}

async function placeInCgroup(runDir: string, cgroup: RunSpec['cgroup']): Promise<void> {
  const identity = await processOf(runDir);
  if (identity) await cgroup?.place(identity.pid);
}

/** Returns the process of a run, or undefined before it runs. */
export async function processOf(runDir: string): Promise<ProcessIdentity | undefined> {
  const [pid, startTicks, bootId] = await record(below(runDir, 'process'));
  return pid === undefined || startTicks === undefined || bootId === undefined
    ? undefined
    : { pid: Number(pid), startTicks, bootId };
}

/** The second line of a run's record. It shows that all steps before the task's own command are done. */
const STARTED = 'started';

/**
 * Says whether a run has reached its task's own command. If the agent ends or gives up the start before it hears that
 * the task runs, it closes the pipe and the run ends. The exit is then not that of the task.
 */
export async function hasStarted(runDir: string): Promise<boolean> {
  return (await beginningOf(below(runDir, 'process'))).split('\n')[1] === STARTED;
}

/** Returns why a run never became its task, if a step reported it. */
export async function troubleOf(runDir: string): Promise<string | undefined> {
  return (await beginningOf(below(runDir, TROUBLE_FILE))).trim() || undefined;
}

/** Returns the exit code of a run that has ended: 128 + signal for a process that a signal killed. */
export async function exitCodeOf(runDir: string): Promise<number | undefined> {
  const [code] = await record(below(runDir, 'exit'));
  return code === undefined ? undefined : Number(code);
}

/**
 * Claims a run's directory, so that a supervisor that has not begun never will (AG-440).
 * @returns false if the supervisor had begun
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

/** Returns the name of a new run. A later agent can read the allocation's id from it. */
export const newRun = (allocId: string): string => `${allocId}.${randomBytes(6).toString('hex')}`;

export const allocOfRun = (run: string): string => run.slice(0, run.lastIndexOf('.'));

export const removeRun = (runDir: string): Promise<void> => rm(runDir, { recursive: true, force: true });

/** Returns the words of a record, or none if the record is incomplete. */
async function record(file: string): Promise<string[]> {
  const words = (await beginningOf(file)).split('\n')[0]?.split(' ') ?? [];
  return words.at(-1) === 'end' ? words.slice(0, -1) : [];
}

/**
 * Returns the beginning of a file in a run's directory. The directory may belong to the task's user. Therefore it never
 * waits for another kind of file, reads no more than MAX_RECORD_BYTES, and treats an unreadable file as empty.
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
