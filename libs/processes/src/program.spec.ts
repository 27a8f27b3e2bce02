import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isNewest, loadProgram } from './program.js';

describe('a program', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), 'waybill-program-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('comes as it was compiled where no bundle has it', async () => {
    expect(await loadProgram('there is none of this name', () => Promise.resolve({ ran: 'compiled' }))).toEqual({
      ran: 'compiled',
    });
  });

  it('comes from a bundle that was made after everything was built, and from no older one', () => {
    const file = path.join(dir, 'some.js');
    expect(isNewest(pathToFileURL(file))).toBe(false);
    writeFileSync(file, '');
    utimesSync(file, new Date(), new Date(Date.now() + 3_600_000));
    expect(isNewest(pathToFileURL(file))).toBe(true);
    utimesSync(file, new Date(), new Date('2020-01-01'));
    expect(isNewest(pathToFileURL(file))).toBe(false);
  });

  it.each(['.tsbuildinfo', '.transpiled'])('comes from no bundle that is older than a %s', (stamp) => {
    const bundle = path.join(dir, 'some.js');
    for (const folder of ['apps/api/dist', 'libs/model/dist']) mkdirSync(path.join(dir, folder), { recursive: true });
    const file = path.join(dir, 'libs/model/dist', stamp);
    for (const written of [bundle, file]) writeFileSync(written, '');
    const newest = (): boolean => isNewest(pathToFileURL(bundle), pathToFileURL(`${dir}/`));
    utimesSync(file, new Date(), new Date(Date.now() - 3_600_000));
    expect(newest()).toBe(true);
    utimesSync(file, new Date(), new Date(Date.now() + 3_600_000));
    expect(newest()).toBe(false);
  });
});
