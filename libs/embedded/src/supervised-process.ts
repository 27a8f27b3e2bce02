import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable, type Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { identityOf, isAlive, type ProcessIdentity, sendSignal } from '@waybill/processes';

/**
 * Runs "$@" and watches our end of its standard input. A line there means that we ask the server to end: it gets its stop
 * signal. Without a line, the input closes because we are gone: it gets its orphan signal. The signal is repeated until
 * the server has ended, and is SIGKILL after a number of rounds of 0.1 s: a shell
 * starts background jobs with SIGINT ignored until they install a handler. Descriptor 3 tells us two lines: the server's
 * process id and, when it has ended, its exit code. The shell goes last, so nothing is left to an init that doesn't reap.
 */
const WATCHER = `
sig=$1; orphan=$2; rounds=$3; shift 3
exec 4<&0
"$@" </dev/null 3>&- 4<&- &
p=$!
echo "$p" >&3
( exec 3>&-; read -r asked <&4 || sig=$orphan; n=0
  while kill -s "$sig" "$p"; do n=$((n+1)); if [ $n -gt $rounds ]; then sig=KILL; fi; sleep 0.1; done ) >/dev/null 2>&1 &
exec 4<&- </dev/null
wait "$p"
echo "$?" >&3
exec 3>&-
wait
`;

const ROUND_MS = 100;
/** The time in milliseconds that a server may take to end in order. */
const STOP_MS = 15_000;
/** The additional wait in milliseconds, in case the watcher has gone. */
const WATCHER_GONE_MS = 2_000;

export interface ProcessSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly stopSignal: 'INT' | 'TERM';
  /**
   * The signal for a server whose launcher has gone. By default it is the stop signal, with the usual time to end in
   * order.
   */
  readonly orphanSignal?: 'KILL';
  /** The time in milliseconds that the server may take to end in order, in addition to STOP_MS. Default 0. */
  readonly stopTakesMs?: number;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /**
   * The file to which standard output and error are appended. It is a file and not a pipe, so that a server survives
   * our death long enough to end in order.
   */
  readonly logFile: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** SpawnedProcess is a server and its watcher, both running. */
interface SpawnedProcess {
  /** The watcher's standard input. The watcher lives as long as this end is open. */
  readonly stdin: Writable;
  /** The process ID of the server itself. */
  readonly pid: number;
  /** Resolves with a description of how the server ended. */
  readonly ended: Promise<string>;
  readonly watcherGone: Promise<unknown>;
  readonly stopMs: number;
}

/**
 * SupervisedProcess is one run of a server process that cannot outlive us, not even when SIGKILL kills us. It has its
 * own session, so the terminal's Ctrl-C reaches only us and the services can drain before their servers end. Cost: two
 * sleeping shells.
 */
export class SupervisedProcess {
  /** Resolves with a description of how it ended; never rejects. */
  readonly ended: Promise<string>;
  private over = false;

  private constructor(private readonly spawned: SpawnedProcess) {
    this.ended = spawned.ended.finally(() => {
      this.over = true;
      spawned.stdin.destroy(); // releases the watcher
    });
  }

  /** The process ID of the server itself. */
  get pid(): number {
    return this.spawned.pid;
  }

  get isOver(): boolean {
    return this.over;
  }

  /** Resolves when the process runs; it need not be ready. */
  static async start(spec: ProcessSpec): Promise<SupervisedProcess> {
    const stopMs = STOP_MS + (spec.stopTakesMs ?? 0);
    const rounds = String(Math.ceil(stopMs / ROUND_MS));
    const log = openSync(spec.logFile, 'a', 0o600);
    let watcher: ChildProcess;
    try {
      watcher = spawn(
        '/bin/sh',
        [
          '-c',
          WATCHER,
          'sh',
          spec.stopSignal,
          spec.orphanSignal ?? spec.stopSignal,
          rounds,
          spec.command,
          ...spec.args,
        ],
        {
          cwd: spec.cwd,
          env: spec.env,
          uid: spec.uid,
          gid: spec.gid,
          detached: true,
          stdio: ['pipe', log, log, 'pipe'],
        },
      );
    } finally {
      closeSync(log);
    }
    const watcherGone = new Promise((resolve) => watcher.once('exit', resolve));
    await once(watcher, 'spawn');
    const { stdin } = watcher;
    const reports = watcher.stdio[3];
    if (stdin === null || !(reports instanceof Readable)) throw new Error('the watcher was spawned with pipes');
    stdin.on('error', () => {}); // how it ended comes through the reports
    const { pid, exitCode } = await readReports(reports);
    const program = identityOf(pid);
    const ended = exitCode.then(async (code) => {
      if (code === undefined && program) await endOrphan(program, spec.stopSignal, stopMs);
      return describeEnd(code);
    });
    return new SupervisedProcess({ stdin, pid, ended, watcherGone, stopMs });
  }

  /**
   * Asks the server to end in order, and waits until it and its watcher have ended. Uses SIGKILL if it takes longer
   * than allowed.
   */
  async stop(): Promise<void> {
    this.spawned.stdin.end('stop\n');
    const timer = setTimeout(() => {
      if (!this.over) killQuietly(this.pid);
    }, this.spawned.stopMs + WATCHER_GONE_MS);
    try {
      await this.ended;
      await this.spawned.watcherGone;
    } finally {
      clearTimeout(timer);
    }
  }
}

interface Reports {
  readonly pid: number;
  /** The exit code. It is undefined if the watcher ended before the server, so that nobody knows it. */
  readonly exitCode: Promise<number | undefined>;
}

async function readReports(reports: Readable): Promise<Reports> {
  const lines = createInterface({ input: reports });
  let code: number | undefined;
  const closed = new Promise<void>((resolve) => lines.once('close', resolve));
  const pid = await new Promise<number>((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(Number(line));
      lines.once('line', (last) => (code = Number(last)));
    });
    lines.once('close', () => reject(new Error('the watcher ended before it started the server')));
  });
  return { pid, exitCode: closed.then(() => code) };
}

function describeEnd(code: number | undefined): string {
  if (code === undefined) return 'its watcher was killed';
  return code > 128 ? `killed by signal ${code - 128}` : `exited with code ${code}`;
}

/**
 * Ends a server whose watcher was killed, and waits until it has ended. Nothing else would end it, and it has the port
 * that the next server needs. The signal is repeated as the watcher repeats it.
 */
async function endOrphan(server: ProcessIdentity, stopSignal: 'INT' | 'TERM', stopMs: number): Promise<void> {
  const killAtMs = performance.now() + stopMs;
  while (isAlive(server)) {
    sendSignal(server.pid, performance.now() < killAtMs ? `SIG${stopSignal}` : 'SIGKILL');
    await delay(ROUND_MS);
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended meanwhile
  }
}
