import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ArtifactSource } from './artifact-source.js';
import { DownloadError } from './download.js';
import { below } from '../../paths/path-name.js';

const run = promisify(execFile);
const COMMIT = /^[0-9a-f]{7,64}$/;
/** The environment that prevents prompts, and commands from a repository or its URL. */
const GUARDED_ENV = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
  GIT_CONFIG_NOSYSTEM: '1',
};
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Fetches the files of one version of a repository, without its history. It uses the machine's `git`.
 * @throws DownloadError
 */
export async function gitClone({ location, ref }: ArtifactSource, into: string, signal: AbortSignal): Promise<void> {
  const runGit = async (...words: string[]): Promise<void> => {
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...GUARDED_ENV };
    await run('git', ['-c', 'core.hooksPath=/dev/null', ...words], { env, signal, maxBuffer: MAX_OUTPUT_BYTES });
  };
  try {
    if (ref !== undefined && COMMIT.test(ref)) {
      // Only a branch or a tag can be cloned without the rest.
      await runGit('clone', '--quiet', '--no-checkout', '--', location, into);
      await runGit('-C', into, 'checkout', '--quiet', '--detach', ref);
    } else await runGit('clone', '--quiet', '--depth=1', ...(ref ? [`--branch=${ref}`] : []), '--', location, into);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new DownloadError('git is not installed on this machine', { cause: error });
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new DownloadError(said, { cause: error });
  }
  await rm(below(into, '.git'), { recursive: true, force: true });
}
