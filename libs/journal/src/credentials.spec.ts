import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CredentialsError, readCredentials, userKey } from './credentials.js';

describe('credentials', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'waybill-credentials-'));
    file = path.join(dir, 'below', 'user.seed');
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it('are made once, for the owner only, and kept', async () => {
    const key = await userKey(file);
    expect(key).toMatch(/^U[A-Z2-7]{55}$/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await userKey(file)).toBe(key);
    expect((await readCredentials(file)).publicKey).toBe(key);
  });

  it.skipIf(process.platform !== 'linux')('are refused where no directory can be made (needs /proc)', async () => {
    await expect(userKey('/proc/nope/user.seed')).rejects.toThrow(
      'no credentials for NATS in /proc/nope/user.seed: cannot create /proc/nope: choose another directory',
    );
  });

  it('in the form of .creds are those of its seed', async () => {
    const key = await userKey(file);
    const seed = (await readFile(file, 'utf8')).trim();
    const creds = `-----BEGIN NATS USER JWT-----\ne30.e30.x\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
    await writeFile(file, creds);
    const { publicKey, authenticator } = await readCredentials(file);
    expect(publicKey).toBe(key);
    expect(authenticator('nonce')).toMatchObject({ jwt: 'e30.e30.x' });
  });

  it.each([
    ['nothing', '', 'there is no seed of a user'],
    ['a seed of an account', `SA${'A'.repeat(56)}`, 'there is no seed of a user'],
    ['a seed with a wrong letter', `SU${'A'.repeat(56)}`, 'its seed is damaged'],
  ])('of %s are refused without being shown', async (_what, text, why) => {
    const bad = path.join(dir, 'bad');
    await writeFile(bad, text);
    const error = await readCredentials(bad).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CredentialsError);
    expect(String(error)).toContain(why);
    if (text !== '') expect(String(error)).not.toContain(text);
  });

  it('that are missing are said to be', async () => {
    await expect(readCredentials(file)).rejects.toThrow('it cannot be read');
  });
});
