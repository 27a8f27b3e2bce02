import { mkdir, open, realpath, rm } from 'node:fs/promises';
import { SharedRun } from '@waybill/model';
import { isErrno } from '@waybill/processes';
import { isMountPoint, isPassedOn } from '../allocations/disk/mount-table.store.js';
import { below, pathName } from '../paths/path-name.js';
import { programOfMachine, type RunProgram, failureText } from './program.transport.js';
import type { Sandbox } from './task-network.js';

/** The directory in which all programs of the machine name namespaces (NW-32). */
export const NAMESPACES_DIRECTORY = '/var/run/netns';
const PROGRAM_TIMEOUT_MS = 10_000;

/** Namespace is an existing namespace. */
export interface Namespace {
  /** The path by which programs enter it. */
  readonly path: string;
  /** The container that holds it; absent if there is none. */
  readonly sandbox?: Sandbox;
}

/**
 * NamespaceUnknownError says that the program that holds a namespace does not answer, so that its existence is unknown.
 */
export class NamespaceUnknownError extends Error {
  override readonly name = 'NamespaceUnknownError';
}

/**
 * NetworkNamespaces are the network namespaces of allocations, by the ID of the allocation. The agent or a driver makes
 * them (NW-21).
 */
export interface NetworkNamespaces {
  /** Whether the loopback interface of new ones is up. Otherwise the loopback plugin has to enable it (NW-40). */
  readonly raisesLoopback: boolean;
  /**
   * Returns the namespace, or undefined if it does not exist. A file that a reset of the machine left does not count.
   * @throws NamespaceUnknownError
   */
  find(allocId: string): Promise<Namespace | undefined>;
  /**
   * Provides what a new one needs, which may take minutes. Absent if nothing is needed.
   * @throws Error with the reason
   */
  provide?(allocId: string): Promise<void>;
  /** Makes a namespace. @param hostname empty if none is wanted @throws Error that says what the machine refused */
  make(allocId: string, hostname: string): Promise<Namespace>;
  /** Removes a namespace. A missing one is a success. @throws Error */
  remove(allocId: string): Promise<void>;
}

/**
 * NamedNamespaces keeps namespaces as files below /var/run/netns. The kernel keeps a namespace as long as its file is
 * mounted. State: whether the directory is being prepared. Cost of a new one: one process.
 */
export class NamedNamespaces implements NetworkNamespaces {
  private readonly directoryReady = new SharedRun(() => this.prepareDirectory());

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

  /**
   * Makes a namespace. An existing one stays as it is. It sets no host name, because each task sets its own when it
   * enters the namespace.
   */
  async make(allocId: string): Promise<Namespace> {
    const file = this.pathOf(allocId);
    if (await isMountPoint(file)) return { path: file };
    await this.directoryReady.requestRun();
    await rm(file, { force: true }); // a reset of the machine leaves a plain file (NW-33)
    await (await open(file, 'wx', 0o444)).close();
    try {
      await this.runCommand('unshare', [`--net=${file}`, ...loopbackUp()]);
    } catch (error) {
      await this.remove(allocId);
      throw error;
    }
    return { path: file };
  }

  async remove(allocId: string): Promise<void> {
    const file = this.pathOf(allocId);
    if (await isMountPoint(file)) await this.runCommand('umount', ['--lazy', file]);
    await rm(file, { force: true });
  }

  /** @throws UnsafeNameError */
  private pathOf(allocId: string): string {
    return below(this.directory, pathName(allocId, 'the allocation'));
  }

  /**
   * Makes the directory and makes its mounts propagate to all namespaces. Otherwise a namespace that is removed here
   * would survive in another view of the machine.
   */
  private async prepareDirectory(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: 0o755 });
    if (await isPassedOn(this.directory)) return;
    const directory = await realpath(this.directory);
    if (!(await isMountPoint(directory))) await this.runCommand('mount', ['--rbind', directory, directory]);
    await this.runCommand('mount', ['--make-rshared', directory]);
  }

  private async runCommand(program: string, args: readonly string[]): Promise<void> {
    const line = [program, ...args].join(' ');
    const file = programOfMachine(program);
    if (file === undefined) throw new Error(`${line} failed: the program ${program} (util-linux) is missing`);
    const end = await this.run({ file, args, timeoutMs: PROGRAM_TIMEOUT_MS }).catch((error: unknown) => {
      throw isErrno(error, 'ENOENT') ? new Error(`${line} failed: ${file} is gone`) : error;
    });
    if (end.code !== 0) throw new Error(`${line} failed: ${JSON.stringify(failureText(end))}`);
  }
}

/** Returns the first and only command that runs in a new namespace. */
function loopbackUp(): string[] {
  const ip = programOfMachine('ip');
  return ip === undefined ? [programOfMachine('true') ?? 'true'] : [ip, 'link', 'set', 'lo', 'up'];
}
