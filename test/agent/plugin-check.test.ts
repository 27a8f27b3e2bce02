import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { installPlugin, type PLUGIN_PROGRAMS } from '../support/plugins/plugin-files.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-check-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Report {
  readonly Plugin: { readonly Kind: string; readonly Name: string; readonly Version: string } | null;
  readonly Counts: { readonly ok: number; readonly failed: number; readonly skipped: number };
  readonly Results: readonly { readonly Name: string; readonly Outcome: string; readonly Text: string }[];
}

async function check(program: keyof typeof PLUGIN_PROGRAMS, ...flags: string[]) {
  const file = installPlugin(dir, program, program);
  const { code, out, err } = await runCli('http://nowhere', ['plugin', 'check', '-json', ...flags, file]);
  expect(err).toBe('');
  const report = JSON.parse(out) as Report;
  const texts = (outcome: string): string[] =>
    report.Results.filter(({ Outcome }) => Outcome === outcome).map(({ Name, Text }) => `${Name}: ${Text}`);
  return { code, report, failed: texts('failed'), skipped: texts('skipped') };
}

const FAULTY = (fault: string): string[] => ['-arg', fault, '-timeout', '4s'];

describe('waybill plugin check', { concurrent: true }, () => {
  it('PG-137, PG-67, PG-75, PG-62: the example driver keeps to the protocol, also with terminals', async () => {
    const short = ['-short-task', '{"command":"/bin/sh","args":["-c","echo hello; exit 3"]}', '-exit-code', '3'];
    const task = ['-task', '{"command":"/bin/sleep","args":["600"]}'];
    const { code, report, failed, skipped } = await check('command', ...task, ...short, '-says', 'hello');
    expect(failed).toEqual([]);
    expect(skipped).toEqual([
      'base: SetConfig refuses what is no MsgPack, and the plugin goes on: the plugin takes no configuration',
    ]);
    expect(report.Plugin).toEqual({ Kind: 'driver', Name: 'command', Version: '0.1.0', APIVersion: 'v0.1.0' });
    expect(report.Counts).toEqual({ ok: 42, failed: 0, skipped: 1 });
    expect(code).toBe(0);
  });

  it('PG-92, PG-97, PG-100: the example device plugin keeps to the protocol', async () => {
    const files = path.join(dir, 'files');
    rmSync(files, { recursive: true, force: true });
    installPlugin(files, 'a', 'command');
    const { code, failed, report } = await check('directory', '-config', JSON.stringify({ dir: files }));
    expect([code, failed]).toEqual([0, []]);
    expect(report.Counts).toEqual({ ok: 15, failed: 0, skipped: 0 });
  });

  it('PG-75: the driver of the documentation keeps to the protocol', async () => {
    const { code, failed } = await check('sleep', '-task', '{"ms":600000}', '-short-task', '{"ms":50}');
    expect([code, failed]).toEqual([0, []]);
  });

  it('PG-53, PG-55, PG-63: a driver that misbehaves fails the checks of what it does', async () => {
    const { code, failed } = await check('faulty', ...FAULTY('refuses-fingerprint'));
    expect(code).toBe(1);
    expect(failed).toEqual([
      'driver: Fingerprint says at once whether the driver can run tasks: attribute "driver.speed": unit can not be specified on a boolean or string attribute',
      expect.stringMatching(/^driver: Fingerprint says again/),
      'driver: WaitTask does not find a task that is not there: no answer within 4 s',
      'driver: InspectTask does not find a task that is not there: it has no error',
      'driver: StopTask does not find a task that is not there: it has no error',
      'driver: DestroyTask does not find a task that is not there: it has no error',
    ]);
  });

  it.each([
    ['prints-first', 'handshake: the plugin starts and says where it listens: Unrecognized remote plugin message'],
    ['certificate', 'handshake: the plugin starts and says where it listens: the plugin wants TLS'],
    ['ends-on-interrupt', 'handshake: SIGINT does not end the plugin: it has ended'],
    ['lies-about-versions', 'base: PluginInfo has a kind, a name and a common API version: skipping plugin'],
  ])('PG-2, PG-4, PG-9, PG-24: %s is a failed check', async (fault, text) => {
    const { code, failed } = await check('faulty', ...FAULTY(fault));
    expect(code).toBe(1);
    expect(failed[0]).toContain(text);
  });

  it.each([
    ['refuses-events', 'driver: TaskEvents stays open: it ended at once'],
    ['wrong-schema', 'driver: TaskConfigSchema is a schema: type:1,9-9: Invalid expression'],
    ['dies-at-stop', 'driver: StopTask does not find a task that is not there: the plugin ended'],
    ['dies-at-start', 'tasks: StartTask starts a task and returns its handle: plugin is shut down'],
  ])('PG-41, PG-65, PG-76: %s is a failed check', async (fault, text) => {
    const { failed } = await check('faulty', ...FAULTY(fault), '-task', '{}');
    expect(failed).toContainEqual(expect.stringContaining(text));
  });

  it('without a task no task is started, and text is for people', async () => {
    const file = installPlugin(dir, 'sleep', 'sleep');
    const { code, out } = await runCli('http://nowhere', ['plugin', 'check', file]);
    expect(code).toBe(0);
    expect(out).toContain('ok   driver: TaskConfigSchema is a schema\n');
    expect(out).toContain('skip tasks: all checks (no configuration of a task is given)\n');
    expect(out).toMatch(/\ndriver sleep 0\.1\.0: 1\d passed, 0 failed, 2 skipped\n$/);
    const wrong = await runCli('http://nowhere', ['plugin', 'check', '-task', '{"sm":1}', file]);
    expect(wrong.out).toContain('No argument or block type is named "sm"');
  });

  it('CL-723: what is no plugin, and what is no JSON', async () => {
    const text = path.join(dir, 'text');
    writeFileSync(text, '#!/bin/sh\necho hello\n');
    chmodSync(text, 0o755);
    const { code, out } = await runCli('http://nowhere', ['plugin', 'check', text]);
    expect([code, out]).toEqual([1, expect.stringContaining('FAIL handshake: the plugin starts')]);
    const { err } = await runCli('http://nowhere', ['plugin', 'check', '-task', '@/no/such/file', text]);
    expect(err).toContain('Error reading -task: open /no/such/file: no such file or directory');
    expect((await runCli('http://nowhere', ['plugin', 'check', '-task', '[]', text])).err).toContain(
      'Error reading -task: it has to be a JSON object',
    );
  });
});
