import { DiskFullError, PortTakenError, ServerFailedError } from './failures.js';

export interface FailedRun {
  readonly server: string;
  readonly port: number;
  readonly dir: string;
  readonly logFile: string;
  /** The server's output in this run, newest last. */
  readonly output: string;
  readonly ending: string;
}

const DISK_FULL = /no space left on device|ENOSPC/i;
const PORT_TAKEN = /address already in use/i;
/** Backends of a killed postmaster notice its death within moments; until then the next one refuses to start. */
const PREDECESSOR_STILL_ENDING = /pre-existing shared memory block|lock file "postmaster\.pid" already exists/;
/** The words of a server's last message. */
const LAST_WORD = /FATAL|PANIC|\[FTL\]|the service cannot go on/;
/** Messages of a killed server. Its earlier output has nothing to do with such an end. */
const KILLED = ['killed by signal 9', 'its watcher was killed'];
const COMPLAINT = /FATAL|PANIC|\[FTL\]|\[ERR\]|error|panic|cannot|not found/i;

export function saysDiskFull(output: string): boolean {
  return DISK_FULL.test(output);
}

/** Returns the named error for a server's last messages. */
export function explainFailure(run: FailedRun): DiskFullError | PortTakenError | ServerFailedError {
  if (saysDiskFull(run.output)) return new DiskFullError(run.dir);
  if (PORT_TAKEN.test(run.output)) return new PortTakenError(run.port, run.server);
  const lines = run.output.split('\n').filter((line) => line.trim() !== '');
  const said = KILLED.includes(run.ending)
    ? undefined
    : (lines.findLast((line) => LAST_WORD.test(line)) ?? lines.find((line) => COMPLAINT.test(line)) ?? lines.at(-1));
  const reason = said === undefined ? run.ending : `${run.ending}: ${withoutPrefix(said)}`;
  return new ServerFailedError(run.server, reason, run.logFile, PREDECESSOR_STILL_ENDING.test(run.output));
}

/** Removes the time and process ID at the beginning of both servers' lines, and the prefix of our services. */
function withoutPrefix(line: string): string {
  return line
    .replace(/^\[\d+\] /, '')
    .replace(/^\d\d:\d\d:\d\d\.\d+ (fatal|error|warn) +\S+ +/, '')
    .replace(/^\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d(\.\d+)?( UTC)?( \[\d+\])? /, '')
    .trim();
}
