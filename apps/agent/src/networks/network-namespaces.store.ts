import { mkdir, open, realpath, rm } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { isMountPoint, isPassedOn } from '../allocations/disk/mount-table.store.js';
import { below, pathName } from '../paths/path-name.js';
import { programOfMachine, type RunProgram, whyItFailed } from './program.transport.js';
import type { Sandbox } from './task-network.js';

/** Where namespaces have names, for all programs of the machine alike (NW-32). */
export const NAMESPACES_DIRECTORY = '/var/run/netns';
const PROGRAM_TIMEOUT_MS = 10_000;

/** A namespace that is there. */
export interface Namespace {
  /** Path that programs enter it by. */
  readonly path: string;
  /** Absent: no container holds it. */
  readonly sandbox?: Sandbox;
}

/** The program that holds a namespace does not answer, so nobody can tell whether the namespace is there. */
export class NamespaceUnknownError extends Error {
  override readonly name = 'NamespaceUnknownError';
}

/** Network namespaces of allocations, by the ID of the allocation: those of the agent, or those of a driver (NW-21). */
export interface NetworkNamespaces {
  /** Whether new ones have their loopback interface up; else the loopback plugin has to do it (NW-40). */
  readonly raisesLoopback: boolean;
  /** undefined: it is not there; a file that a reset of the machine left is none. @throws NamespaceUnknownError */
  find(allocId: string): Promise<Namespace | undefined>;
  /** Brings what a new one is made of, which may take minutes. Absent: nothing is needed. @throws Error with the reason */
  provide?(allocId: string): Promise<void>;
  /** @param hostname empty: none is wanted @throws Error that says what the machine refused */
  make(allocId: string, hostname: string): Promise<Namespace>;
  /** What is not there is a success. @throws Error */
  remove(allocId: string): Promise<void>;
}

/**
 * Namespaces as files below /var/run/netns: the kernel keeps a namespace for as long as its file is mounted, whoever has
 * made it. Stateless. Cost of a new one: one process.
 */
export class NamedNamespaces implements NetworkNamespaces {
  constructor(
    private readonly run: RunProgram,
    private readonly directory = NAMESPACES_DIRECTORY,
  ) {}

  get raisesLoopback(): boolean {
    return programOfMachine('ip') !== undefined;
  }

  async find(allocId: string): Promise<Namespace | undefined> {
    const path = this.pathOf(allocId);
    return (await isMountPoint(path)) ? { path } : undefined;
  }

  /** One that is there stays as it is. A host name belongs to each task: programs enter the namespace with their own. */
  async make(allocId: string): Promise<Namespace> {
    const file = this.pathOf(allocId);
    if (await isMountPoint(file)) return { path: file };
    await this.prepareDirectory();
    await rm(file, { force: true }); // a plain file was left by a reset of the machine (NW-33)
    await (await open(file, 'wx', 0o444)).close();
    try {
      await this.command('unshare', [`--net=${file}`, ...loopbackUp()]);
    } catch (error) {
      await this.remove(allocId);
      throw error;
    }
    return { path: file };
  }

  async remove(allocId: string): Promise<void> {
    const file = this.pathOf(allocId);
    if (await isMountPoint(file)) await this.command('umount', ['--lazy', file]);
    await rm(file, { force: true });
  }

  /** @throws UnsafeNameError */
  private pathOf(allocId: string): string {
    return below(this.directory, pathName(allocId, 'the allocation'));
  }

  /** Mounts below it are seen by all: else a namespace that is removed here lives on in another view of the machine. */
  private async prepareDirectory(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: 0o755 });
    if (await isPassedOn(this.directory)) return;
    const directory = await realpath(this.directory);
    if (!(await isMountPoint(directory))) await this.command('mount', ['--rbind', directory, directory]);
    await this.command('mount', ['--make-rshared', directory]);
  }

  private async command(program: string, args: readonly string[]): Promise<void> {
    const line = [program, ...args].join(' ');
    const file = programOfMachine(program);
    if (file === undefined) throw new Error(`${line} failed: the program ${program} (util-linux) is missing`);
    const end = await this.run({ file, args, timeoutMs: PROGRAM_TIMEOUT_MS }).catch((error: unknown) => {
      throw isErrno(error, 'ENOENT') ? new Error(`${line} failed: ${file} is gone`) : error;
    });
    if (end.code !== 0) throw new Error(`${line} failed: ${JSON.stringify(whyItFailed(end))}`);
  }
}

/** The command that runs in a new namespace: the first thing there, and the only one. */
function loopbackUp(): string[] {
  const ip = programOfMachine('ip');
  return ip === undefined ? [programOfMachine('true') ?? 'true'] : [ip, 'link', 'set', 'lo', 'up'];
}
