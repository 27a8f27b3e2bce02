import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { freePort, startStack } from '@waybill/embedded';
import { describe, expect } from 'vitest';
import { type Launcher, nothingRuns } from '../support/launcher.js';
import { itAtSite as it, type LauncherSite, nextIndex } from '../support/launcher-site.js';

const LONG_MS = 240_000;

const NOBODY = 65_534;
/** It failed before anything ran: one clear line, and nothing behind it. */
async function expectRefusal(site: LauncherSite, launcher: Launcher, text: RegExp): Promise<void> {
  const { code } = await launcher.ended;
  expect(launcher.stderr).toMatch(text);
  expect(launcher.stderr.trim().split('\n'), launcher.stderr).toHaveLength(1);
  expect(code).toBeGreaterThan(0);
  await nothingRuns(site.parent);
}

describe.concurrent('npm start refuses', () => {
  it('a port that is taken', async ({ site }) => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(site.port, '127.0.0.1', resolve));
    await expectRefusal(site, site.launch(), new RegExp(`Port ${site.port} .*already taken`));
    other.close();
  });

  it('a data directory of a newer version', async ({ site }) => {
    mkdirSync(site.dataDir);
    writeFileSync(path.join(site.dataDir, 'version'), '{"format":99}');
    await expectRefusal(site, site.launch(), /written by a newer Waybill/);
    expect(readdirSync(site.dataDir)).toEqual(['version']);
  });

  it('a data directory without permission', async ({ site, skip }) => {
    const setpriv = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
    const isRoot = process.getuid?.() === 0;
    if (isRoot && spawnSync(setpriv[0]!, [...setpriv.slice(1), process.execPath, '--version']).status !== 0)
      skip('no way to be an ordinary user here');
    mkdirSync(site.dataDir, { mode: 0o555 });
    await expectRefusal(site, site.launch(isRoot ? { by: setpriv } : {}), /No permission to write to .*my data/);
  });

  it('a data directory that another launcher uses', { timeout: LONG_MS }, async ({ site }) => {
    const first = await site.launch().up();
    const second = site.launch({ port: await freePort() });
    expect((await second.ended).code).toBeGreaterThan(0);
    expect(second.stderr.trim()).toMatch(/in use by process \d+[^\n]*$/);
    expect((await first.api.raw('/v1/jobs')).status).toBe(200);
    expect(await first.interrupt()).toEqual({ code: 0, signal: null });
  });

  it.for([
    [['--colour'], /unknown option '--colour'/],
    [['--port', 'http'], /a port is a number from 1 to 65535/],
    [['surplus'], /too many arguments/],
  ] as const)('the arguments %j', async ([args, text], { site }) => {
    await expectRefusal(site, site.launch({ args }), text);
    expect(existsSync(site.dataDir)).toBe(false);
  });

  it.for([
    ['WAYBILL_LEASE_TTL_MS', 'abc'],
    ['WAYBILL_LOG_LEVEL', 'loud'],
    ['WAYBILL_LEASE_TTL', '3000'],
    ['WAYBILL_DATABASE_URL', 'mysql://127.0.0.1/waybill'],
  ] as const)('the environment value %s=%s', async ([name, value], { site }) => {
    await expectRefusal(site, site.launch({ env: { [name]: value } }), new RegExp(name));
    expect(existsSync(site.dataDir)).toBe(false);
  });

  it('an address that other machines reach, while access control is off', async ({ site }) => {
    const env = { WAYBILL_HTTP_HOST: '0.0.0.0' };
    await expectRefusal(
      site,
      site.launch({ env }),
      /WAYBILL_HTTP_HOST=0\.0\.0\.0 .*--acl.*WAYBILL_HTTP_ALLOW_UNPROTECTED=true/,
    );
    expect(existsSync(site.dataDir)).toBe(false);
  });

  it.for([
    ['NATS', { WAYBILL_NATS_URL: 'nats://127.0.0.1:1' }],
    ['PostgreSQL', { WAYBILL_DATABASE_URL: 'postgresql://waybill:secret@127.0.0.1:1/waybill' }],
  ] as const)('a %s of its user that does not answer', { timeout: LONG_MS }, async ([, env], { site }) => {
    const launcher = site.launch({ env });
    await expectRefusal(site, launcher, /projector does not start: .*127\.0\.0\.1:1.*\(log: .*waybill\.log\)/);
    expect(launcher.stdout + launcher.stderr).not.toContain('secret');
    const apart = site.launch({ env, args: ['--processes'] });
    await expectRefusal(
      site,
      apart,
      /failed: exited with code 1: the service cannot go on .*127\.0\.0\.1:1.*\(log: .*\.log\)/,
    );
    expect(apart.stdout + apart.stderr).not.toContain('secret');
  });
});

describe('npm start with servers of its user', () => {
  it('uses them and leaves them running', { timeout: LONG_MS }, async ({ site }) => {
    const stack = await startStack();
    try {
      const env = { WAYBILL_NATS_URL: stack.natsUrl, WAYBILL_DATABASE_URL: stack.databaseUrl };
      const launcher = await site.launch({ env }).up();
      expect(launcher.stdout).toMatch(/ready +nats +yours/);
      expect(launcher.stdout).toMatch(/ready +postgres +yours/);
      expect(launcher.stdout).not.toContain(new URL(stack.databaseUrl).password);
      expect(existsSync(path.join(site.dataDir, 'nats'))).toBe(false);
      expect(existsSync(path.join(site.dataDir, 'postgres'))).toBe(false);
      const index = await nextIndex(launcher.api, 'one');
      expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
      const again = await site.launch({ env }).up();
      expect(await nextIndex(again.api, 'two')).toBeGreaterThan(index);
      expect(await again.interrupt()).toEqual({ code: 0, signal: null });
      expect(readFileSync(path.join(site.dataDir, 'logs', 'waybill.log'), 'utf8')).not.toContain(
        new URL(stack.databaseUrl).password,
      );
    } finally {
      await stack.stop();
    }
  });
});
