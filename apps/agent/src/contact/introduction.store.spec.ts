import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IntroductionFiles } from './introduction.store.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-introduction-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (token: string): void => writeFileSync(path.join(dir, 'intro_token.jwt'), token);
const tokenWith = (env: Record<string, string> = {}) => new IntroductionFiles(dir, env).token();

describe('the introduction token of a machine', () => {
  it('AU-206: from the environment, else from its file, trimmed; an empty variable means none', async () => {
    expect(await tokenWith()).toBeUndefined();
    put(' of-the-file \n');
    expect(await tokenWith()).toBe('of-the-file');
    expect(await tokenWith({ WAYBILL_CLIENT_INTRO_TOKEN: 'of-waybill' })).toBe('of-waybill');
    expect(await tokenWith({ NOMAD_CLIENT_INTRO_TOKEN: 'a', WAYBILL_CLIENT_INTRO_TOKEN: 'b' })).toBe('a');
    expect(await tokenWith({ NOMAD_CLIENT_INTRO_TOKEN: '' })).toBeUndefined();
  });

  it('AU-206: from the file that others keep, before its own; without text there, from its own', async () => {
    const given = path.join(dir, 'given');
    const token = () => new IntroductionFiles(dir, {}, given).token();
    put('own');
    expect(await token()).toBe('own');
    writeFileSync(given, '\n');
    expect(await token()).toBe('own');
    writeFileSync(given, 'of-the-pod\n');
    expect(await token()).toBe('of-the-pod');
  });

  it('AU-206: a directory in the place of the file is an error', async () => {
    mkdirSync(path.join(dir, 'intro_token.jwt'));
    await expect(tokenWith()).rejects.toThrow('intro token file is a directory');
  });

  it('AU-206, AU-207: used until the machine has registered, also after a restart, and again once it is refused', async () => {
    put('t1');
    const files = new IntroductionFiles(dir, { WAYBILL_CLIENT_INTRO_TOKEN: 'of-waybill' });
    await files.registered();
    expect(readdirSync(dir)).toEqual(['registered']);
    put('t2');
    expect([await files.token(), await tokenWith()]).toEqual([undefined, undefined]);
    await files.refused();
    await files.refused();
    expect([await files.token(), await tokenWith()]).toEqual(['of-waybill', 't2']);
  });
});
