import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

describe('waybill log', () => {
  let waybill: WaybillProcesses;
  let api: ApiClient;

  beforeAll(async () => {
    waybill = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'scheduler', 'api']);
    api = waybill.api;
    await api.register(shellJob('web', 'true'));
    await api.register({ ...shellJob('web', 'true'), Priority: 77 });
    await api.register(shellJob('other', 'true'));
  });
  afterAll(() => waybill?.stop());

  /** @param until the text on stdout at which the command is interrupted */
  async function run(words: string[], until?: RegExp): Promise<{ code: number | null; out: string; err: string }> {
    const child = spawn(process.execPath, [BIN, 'log', ...words], { env: { PATH: '', WAYBILL_ADDR: api.url } });
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => {
      out += String(data);
      if (until?.test(out)) child.kill('SIGINT');
    });
    child.stderr.on('data', (data) => (err += String(data)));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, out, err };
  }

  it('CL-1021, CL-1023: what was done to an object, the newest first', async () => {
    const { code, out } = await run(['job', 'we', '-type', 'JobRegister']);
    expect(code).toBe(0);
    const rows = out
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(rows[0]).toEqual(['Index', 'Time', 'Transaction', 'Who', 'What', 'Trace']);
    expect(rows.slice(1).map((row) => row.slice(2, 5))).toEqual([
      ['JobRegister', 'anonymous', expect.stringMatching(/^version 0 -> 1/)],
      ['JobRegister', 'anonymous', 'created'],
    ]);
    expect((await run(['job', 'nobody'])).out).toBe('No transactions found\n');
  });

  it('CL-1021: without a kind it counts; pages, times, -diff and -verbose', async () => {
    const all = await run(['-type', 'JobRegister', '-n', '1']);
    expect(all.out).toMatch(/JobRegister +anonymous +1 eval, 1 job/);
    expect(all.out).toContain('-page-token');
    expect((await run(['-since', '1h', '-until', '30m'])).out).toBe('No transactions found\n');
    const diff = await run(['job', 'web', '-type', 'JobRegister', '-n', '1', '-diff', '-verbose']);
    expect(diff.out).toMatch(/Priority: +"50" => "77"/);
    expect(diff.out).toMatch(/^ {4}request: [0-9a-f-]{36}$/m);
  });

  it('CL-1023: of a kind it says which object; a kind or a time that is none is explained', async () => {
    const { out } = await run(['job', '-type', 'JobRegister', '-reverse', '-n', '1']);
    expect(out).toMatch(/JobRegister +anonymous +web: created/);
    expect((await run(['jbo', 'web'])).err).toMatch(/unknown kind "jbo"\)\nDid you mean "job"\?\n$/);
    expect((await run(['-since', 'yesterday'])).err).toMatch(/^Invalid -since "yesterday": neither a time like /);
  });

  it('CL-1026: -at prints the object as the API gave it then', async () => {
    const job = (await (await api.raw('/v1/job/web')).json()) as { ModifyIndex: number };
    await api.register({ ...shellJob('web', 'false'), Priority: 78 });
    const { code, out } = await run(['job', 'web', '-at', String(job.ModifyIndex)]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(job);
    const before = await run(['job', 'web', '-at', '1']);
    expect([before.code, before.err.trim()]).toEqual([1, 'No job "web" at index 1']);
    expect((await run(['-at', '5'])).code).toBe(1);
  });

  it('goes on with what comes, one JSON object per line with -json', async () => {
    const following = run(['job', 'later', '-f', '-json'], /"ID":"later"/);
    await api.register(shellJob('later', 'true'));
    const { code, out } = await following;
    expect(code).toBe(0);
    for (const line of out
      .trim()
      .split('\n')
      .filter((text) => text !== ''))
      expect(() => JSON.parse(line)).not.toThrow();
  });
});
