import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@waybill/embedded';
import { describe, expect } from 'vitest';
import { ApiClient } from '../support/api-client.js';
import { UP_TIMEOUT_MS } from '../support/launcher.js';
import { itAtSite as it, runningAllocs } from '../support/launcher-site.js';
import { eventually } from '../support/wait.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LONG_MS = 240_000;
/** Folders that a fresh clone does not have. */
const NOT_CLONED = new Set(['node_modules', 'dist', '.git', '.waybill']);

/** Makes a checkout as `git clone` and `npm ci` leave it: no output of a compiler, the packages of Waybill its own. */
function freshCheckout(folder: string): string {
  cpSync(ROOT, folder, { recursive: true, filter: (file) => !NOT_CLONED.has(path.basename(file)) });
  const modules = path.join(folder, 'node_modules');
  mkdirSync(path.join(modules, '@waybill'), { recursive: true });
  for (const name of readdirSync(path.join(ROOT, 'node_modules')))
    if (name !== '@waybill') symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, name));
  for (const group of ['apps', 'libs'])
    for (const name of readdirSync(path.join(folder, group)))
      symlinkSync(path.join(folder, group, name), path.join(modules, '@waybill', name));
  return folder;
}

/** Runs `npm start` in a checkout until it says `says`, and stops it. @returns its output */
async function start(
  checkout: string,
  args: readonly string[],
  says: string,
  meanwhile: () => Promise<void>,
): Promise<string> {
  const child: ChildProcess = spawn('npm', ['start', '--', ...args], {
    cwd: checkout,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which gets the signal as from Ctrl-C in a terminal.
    detached: true,
  });
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  try {
    await eventually(`npm start says ${says}`, () => output.includes(says) || child.exitCode !== null, UP_TIMEOUT_MS);
    expect(output).toContain(says);
    await meanwhile();
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGINT');
    await ended;
  }
  return output;
}

const outputs = (checkout: string, name: string): string[] =>
  ['apps', 'libs'].flatMap((group) =>
    readdirSync(path.join(checkout, group)).filter((folder) =>
      existsSync(path.join(checkout, group, folder, 'dist', name)),
    ),
  );

describe('the first npm start', () => {
  it('runs the example without the compiler, and starts with what changed', { timeout: LONG_MS }, async ({ site }) => {
    const checkout = freshCheckout(path.join(site.parent, 'checkout'));
    const args = ['--port', `${site.port}`, '--nats-port', `${await freePort()}`, '--data-dir', site.dataDir];
    const api = new ApiClient(`http://127.0.0.1:${site.port}`);

    await start(checkout, args, 'Ctrl-C stops everything', async () => {
      const [alloc] = await runningAllocs(api, 'hello');
      expect(alloc?.ClientStatus).toBe('running');
    });
    expect(outputs(checkout, '.tsbuildinfo')).toEqual([]);
    expect(outputs(checkout, '.transpiled')).toContain('dev');
    for (const bundle of ['dist/bundle/api.js', 'dist/ui/index.html', 'apps/cli/dist/bundle/waybill.js'])
      expect(existsSync(path.join(checkout, bundle)), bundle).toBe(true);

    const version = path.join(checkout, 'libs/model/src/version.ts');
    const changed = readFileSync(version, 'utf8').replace(/'\d+\.\d+\.\d+'/, "'98.76.54'");
    writeFileSync(version, changed);
    await start(checkout, args, 'Ctrl-C stops everything', async () => {
      expect(JSON.stringify(await api.get('/v1/agent/self'))).toContain('98.76.54');
    });
  });
});
