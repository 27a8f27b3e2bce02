import { mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type TaskArtifact, errorText } from '@waybill/model';
import { ARTIFACT_LIMITS, ArtifactLimitError, type ArtifactLimits } from '../artifacts/artifact-limits.js';
import { type ArtifactSource, ArtifactSourceError, parseArtifactSource } from '../artifacts/artifact-source.js';
import { ChecksumError } from '../artifacts/checksum.js';
import { download } from '../artifacts/download.js';
import { gitClone } from '../artifacts/git-clone.js';
import { inOpenParent, openInside } from '../../paths/inside-allocation.store.js';
import { Once } from './once.store.js';
import type { TaskPaths } from '../../drivers/driver.js';
import { HookError, type TaskHook, type TaskStart } from '../task-hook.js';
import { EscapesError, TakenError } from '../../paths/open-directory.store.js';
import { below, belowAsText, entryName, isWithin, pathName, UnsafeNameError } from '../../paths/path-name.js';

/** A task fetches at most this many artifacts at the same time (AG-290). */
export const ARTIFACTS_AT_A_TIME = 3;
/** The prefix of directories of unfinished artifacts. */
const UNFINISHED = 'artifact-';
/** The number of retries of a removal. A program that was told to end may still write a file. */
const REMOVE_RETRIES = 3;

export interface ArtifactOptions {
  /** Whether artifacts may be files of the machine. A job can then read all files that the agent can read. */
  readonly machineFiles: boolean;
  readonly limits?: ArtifactLimits;
}

interface Fetched {
  readonly path: string;
  readonly isTree: boolean;
}

/** ArtifactStart is the part of a start that the hook uses. */
type ArtifactStart = Pick<TaskStart, 'task' | 'interpolate' | 'emit' | 'signal'> & {
  readonly config: { readonly paths: Pick<TaskPaths, 'taskDir' | 'privateDir'> };
};

/**
 * ArtifactHook fetches a task's artifacts before its first start, three at a time (AG-290). It fetches and unpacks each
 * artifact outside of the task's files, and copies it to its destination only then. A failed artifact therefore leaves
 * nothing incomplete there.
 */
export class ArtifactHook implements TaskHook {
  readonly name = 'artifacts';
  private readonly limits: ArtifactLimits;

  constructor(private readonly options: ArtifactOptions) {
    this.limits = options.limits ?? ARTIFACT_LIMITS;
  }

  async prestart(start: ArtifactStart): Promise<void> {
    const artifacts = (start.task.Artifacts ?? []).map((one) => interpolatedArtifact(one, start.interpolate));
    if (artifacts.length === 0) return;
    const once = new Once(start.config.paths.privateDir, this.name, artifacts);
    if (await once.isDone()) return;
    start.emit('Downloading Artifacts');
    await removeUnfinished(start.config.paths.privateDir);
    await this.fetchAll(artifacts, start);
    await once.markDone();
  }

  /**
   * Fetches all artifacts. It fails with the first failure, but only after the others have ended, so a later start
   * never meets running downloads.
   */
  private async fetchAll(artifacts: readonly TaskArtifact[], start: ArtifactStart): Promise<void> {
    const failed = new AbortController();
    const signal = AbortSignal.any([start.signal, failed.signal]);
    const waiting = artifacts.values();
    const fetchNext = async (): Promise<void> => {
      try {
        for (const artifact of waiting) {
          signal.throwIfAborted();
          await this.fetchArtifact(artifact, start, signal);
        }
      } catch (error) {
        failed.abort(error);
      }
    };
    await Promise.all(Array.from({ length: ARTIFACTS_AT_A_TIME }, fetchNext));
    failed.signal.throwIfAborted();
  }

  private async fetchArtifact(artifact: TaskArtifact, start: ArtifactStart, stopped: AbortSignal): Promise<void> {
    const { privateDir, taskDir } = start.config.paths;
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(this.limits.timeoutMs)]);
    const workDir = await mkdtemp(below(privateDir, UNFINISHED));
    try {
      const source = parseArtifactSource(artifact.GetterSource, artifact.GetterOptions ?? {});
      this.refuseSource(artifact, source);
      const fetched = await this.downloadSource(artifact, source, workDir, signal);
      await copyToDestination(fetched, source.fileName, artifact, taskDir);
    } catch (error) {
      throw downloadFailure(artifact.GetterSource, error);
    } finally {
      await rm(workDir, { recursive: true, force: true, maxRetries: REMOVE_RETRIES });
    }
  }

  /** @throws ArtifactSourceError */
  private refuseSource(artifact: TaskArtifact, source: ArtifactSource): void {
    if (artifact.GetterInsecure) throw new ArtifactSourceError('insecure downloads are not supported');
    if (source.getter === 'file' && !this.options.machineFiles)
      throw new ArtifactSourceError('files of the machine are no artifacts here: WAYBILL_AGENT_ARTIFACT_FILES is off');
    if (artifact.GetterMode === 'dir' && source.getter !== 'git' && !source.archive)
      throw new ArtifactSourceError('mode "dir" needs an archive or a repository');
  }

  private async downloadSource(
    { GetterHeaders, GetterMode }: TaskArtifact,
    source: ArtifactSource,
    workDir: string,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const tree = below(workDir, 'tree');
    if (source.getter === 'git') await gitClone(source, tree, signal);
    else {
      const file = below(workDir, 'file');
      await download({ source, headers: GetterHeaders ?? {}, target: file }, this.limits, signal);
      if (!source.archive || GetterMode === 'file') return { path: file, isTree: false };
      const { unpack } = await import('../artifacts/unpack.js'); // most machines never unpack anything
      await unpack({ archive: file, form: source.archive, into: tree }, this.limits, signal);
    }
    return await inTree(tree, source.subdirectory);
  }
}

/** Returns a part of the download. A repository may contain links to any place, and no link is followed out of it. */
async function inTree(tree: string, subdirectory: string): Promise<Fetched> {
  const found = await realpath(belowAsText(tree, path.normalize(`/${subdirectory}`)));
  if (!isWithin(await realpath(tree), found)) throw new EscapesError(subdirectory);
  return { path: found, isTree: (await stat(found)).isDirectory() };
}

/** Copies the download to its destination. It opens each segment of the path, so no link can lead it elsewhere. */
async function copyToDestination(
  { path: from, isTree }: Fetched,
  fileName: string,
  artifact: TaskArtifact,
  taskDir: string,
): Promise<void> {
  const wanted = artifact.RelativeDest || 'local/';
  if (!isTree && artifact.GetterMode === 'file')
    return inOpenParent(taskDir, wanted, (parent, name) => parent.copyEntry(from, name));
  const directory = await openInside(taskDir, wanted);
  try {
    await (isTree ? directory.copyContents(from) : directory.copyEntry(from, pathName(fileName, 'the file')));
  } finally {
    await directory.close();
  }
}

/** Removes the unfinished artifacts of an agent that was killed. */
async function removeUnfinished(privateDir: string): Promise<void> {
  const left = (await readdir(privateDir)).filter((name) => name.startsWith(UNFINISHED));
  await Promise.all(left.map((name) => rm(below(privateDir, entryName(name)), { recursive: true, force: true })));
}

/**
 * Returns the error of a failed download. The restart policy retries all failures except those that would recur
 * (AG-290).
 */
function downloadFailure(source: string, error: unknown): HookError {
  const why = errorText(error);
  const text = withoutSecrets(`failed to download artifact "${source}": ${why}`);
  const final = [
    ArtifactSourceError,
    ArtifactLimitError,
    ChecksumError,
    EscapesError,
    TakenError,
    UnsafeNameError,
  ].some((kind) => error instanceof kind);
  return new HookError(
    text,
    !final,
    { type: 'Failed Artifact Download', details: { download_error: text } },
    { cause: error },
  );
}

/** Removes credentials from URLs, because more people can read events than jobs. */
const withoutSecrets = (text: string): string => text.replaceAll(/\/\/[^/@\s]*@/g, '//');

/** Replaces the variables in source, options, headers and destination of an artifact (AG-234). */
export function interpolatedArtifact(artifact: TaskArtifact, interpolate: (text: string) => string): TaskArtifact {
  const all = (map: Record<string, string> | null): Record<string, string> | null =>
    map && Object.fromEntries(Object.entries(map).map(([name, value]) => [name, interpolate(value)]));
  return {
    ...artifact,
    GetterSource: interpolate(artifact.GetterSource),
    GetterOptions: all(artifact.GetterOptions),
    GetterHeaders: all(artifact.GetterHeaders),
    RelativeDest: interpolate(artifact.RelativeDest),
  };
}
