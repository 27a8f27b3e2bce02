import { errorText } from '@waybill/model';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { findSetsid, exitCodeOf, supervise, troubleOf } from '../supervised/supervisor.js';
import type { Chroot } from './chroot.js';
import { enclosedCommand } from './enclosure.js';
import { enclosureMounts } from './mount-points.js';
import { below, pathName } from '../../paths/path-name.js';

/** ExecTools are the paths of programs that bring a task into its root: on the machine, or inside the root. */
export interface ExecTools {
  readonly unshare: string;
  readonly nsenter: string;
  readonly mountInside: string;
  readonly umountInside: string;
  readonly setprivInside: string;
}

/** ExecUnavailableError says that this machine cannot isolate tasks. The message says why. */
export class ExecUnavailableError extends Error {
  override readonly name = 'ExecUnavailableError';
}

const PROGRAM_DIRECTORIES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** @throws ExecUnavailableError */
export function findTools(chroot: Chroot): ExecTools {
  if (process.platform !== 'linux') throw new ExecUnavailableError('exec needs Linux');
  if (process.getuid?.() !== 0) throw new ExecUnavailableError('exec needs an agent that runs as root');
  if (findSetsid() === undefined) throw new ExecUnavailableError('the program setsid (util-linux) is missing');
  onMachine('pivot_root');
  return {
    unshare: onMachine('unshare'),
    nsenter: onMachine('nsenter'),
    mountInside: pathInChroot('mount', chroot),
    umountInside: pathInChroot('umount', chroot),
    setprivInside: pathInChroot('setpriv', chroot),
  };
}

function onMachine(program: string): string {
  const found = PROGRAM_DIRECTORIES.map((dir) => below(dir, pathName(program))).find((file) => existsSync(file));
  if (found === undefined) throw new ExecUnavailableError(`the program ${program} (util-linux) is missing`);
  return found;
}

function pathInChroot(program: string, chroot: Chroot): string {
  const found = PROGRAM_DIRECTORIES.map((dir) => below(dir, pathName(program)))
    .filter((file) => existsSync(file))
    .map((file) => chroot.pathInside(file))
    .find((file) => file !== undefined);
  if (found === undefined) throw new ExecUnavailableError(`no directory of the chroot holds ${program} (util-linux)`);
  return found;
}

/**
 * Makes the root of a trial task that does nothing. Only a trial shows whether the machine permits it.
 * @throws ExecUnavailableError
 */
export async function tryOut(tools: ExecTools, chroot: Chroot, runsDir: string): Promise<void> {
  await mkdir(runsDir, { recursive: true });
  const dir = await mkdtemp(below(runsDir, 'trial-'));
  const toolPath = (name: string): string => below(dir, pathName(name));
  const [runDir, taskDir, allocDir, secretsDir] = [
    toolPath('run'),
    toolPath('task'),
    toolPath('alloc'),
    toolPath('secrets'),
  ] as const;
  const nowhere = openSync('/dev/null', 'w');
  try {
    for (const made of [runDir, taskDir, allocDir, secretsDir]) await mkdir(made);
    await chmod(dir, 0o700);
    const paths = { taskDir, allocDir, logsDir: '', localDir: '', secretsDir, privateDir: '' };
    const mounts = await enclosureMounts({ paths, mounts: [] }, chroot);
    const apart = { pidMode: 'private', ipcMode: 'private', isOffline: true, hostname: '' } as const;
    const place = { runDir, taskDir, ...apart, mounts, placed: false, tools };
    const supervisor = await supervise({
      runDir,
      commandLine: enclosedCommand(place, [tools.setprivInside, '--version']),
      cwd: '/',
      env: {},
      stdout: nowhere,
      stderr: nowhere,
    });
    if (supervisor.exitCode === null && supervisor.signalCode === null) await once(supervisor, 'exit');
    if ((await exitCodeOf(runDir)) !== 0) throw new Error((await troubleOf(runDir)) ?? 'a root of its own failed');
  } catch (error) {
    throw new ExecUnavailableError(errorText(error));
  } finally {
    closeSync(nowhere);
    await rm(dir, { recursive: true, force: true });
  }
}
