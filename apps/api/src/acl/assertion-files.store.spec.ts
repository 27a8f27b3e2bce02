import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readAssertionFiles } from './assertion-files.store.js';
import type { GivenAssertion } from './auth-method-request.js';

let directory: string;
const at = (name: string): string => path.join(directory, name);

beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'waybill-assertion-'));
  writeFileSync(at('key.pem'), 'a key');
  writeFileSync(at('large.pem'), 'x'.repeat(64 * 1_024 + 1));
  mkdirSync(at('directory'));
  execFileSync('mkfifo', [at('pipe')]);
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const naming = (PemKeyFile: string, PemCertFile: string): GivenAssertion => ({
  KeySource: 'private_key',
  Audience: null,
  KeyAlgorithm: '',
  PrivateKey: { PemKey: '', PemKeyFile, PemCert: '', PemCertFile, KeyID: '', KeyIDHeader: '' },
  ExtraHeaders: null,
});

it('AU-16: files of a client assertion are read, or it is said why not', async () => {
  expect(Object.fromEntries(await readAssertionFiles(naming(at('key.pem'), at('none.pem'))))).toEqual({
    [at('key.pem')]: { text: 'a key' },
    [at('none.pem')]: { problem: 'ENOENT' },
  });
  expect(Object.fromEntries(await readAssertionFiles(naming(at('large.pem'), at('directory'))))).toEqual({
    [at('large.pem')]: { problem: 'it is larger than 65536 bytes' },
    [at('directory')]: { problem: 'it is not a file' },
  });
});

it('AU-16: a pipe without a writer is not waited for, a relative path is not opened', async () => {
  expect(Object.fromEntries(await readAssertionFiles(naming(at('pipe'), 'key.pem')))).toEqual({
    [at('pipe')]: { problem: 'it is not a file' },
  });
  expect(await readAssertionFiles(null)).toEqual(new Map());
});
