import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

/**
 * The facts without which a figure means nothing.
 *
 * @param {readonly [before: number, after: number]} yardstickMs how fast the machine was when the benchmark began and ended
 * @returns {{ cpu: string, cores: number, memoryMb: number, os: string, arch: string, node: string, revision: string, date: string, yardstickMs: readonly [number, number] }}
 */
export function machineFacts(yardstickMs) {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model.trim() || 'unknown',
    cores: os.availableParallelism(),
    memoryMb: Math.round(os.totalmem() / 2 ** 20),
    os: `${os.type()} ${os.release()}`,
    arch: os.arch(),
    node: process.version,
    revision: revision(),
    date: new Date().toISOString(),
    yardstickMs,
  };
}

/** The commit measured; `+` says that files differ from it. */
function revision() {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const git = (/** @type {string[]} */ ...args) => {
    return execFileSync('git', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  };
  try {
    return `${git('rev-parse', '--short=12', 'HEAD')}${git('status', '--porcelain', '-uno') === '' ? '' : '+'}`;
  } catch {
    return 'unknown';
  }
}
