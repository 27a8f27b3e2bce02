import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WAYBILL_VERSION } from '@waybill/model/version';

const at = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const run = (...words: string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(process.execPath, words, { encoding: 'utf8' });

describe('the bundle', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'waybill-bundle-'));
  beforeAll(() => expect(run(at('../bundle.mjs'), folder)).toMatchObject({ status: 0, stderr: '' }), 60_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const waybill = (...words: string[]): ReturnType<typeof run> => run(path.join(folder, 'waybill.js'), ...words);

  it('is the program: a command, one that reads job files, one that is not there', () => {
    expect(waybill('version')).toMatchObject({ status: 0, stdout: expect.stringContaining(WAYBILL_VERSION) as string });
    expect(
      waybill('job', 'validate', '-address=http://127.0.0.1:1', at('../../../examples/service.nomad.hcl')).stdout,
    ).toMatch(/Job validation successful/);
    expect(waybill('no-such-command').status).toBe(127);
  });
});
