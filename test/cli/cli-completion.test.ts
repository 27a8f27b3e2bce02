import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HAS_BASH = (() => {
  try {
    return execFileSync('bash', ['-c', 'echo yes']).toString() === 'yes\n';
  } catch {
    return false;
  }
})();

describe('completion', () => {
  let api: RecordedApi;
  let home: string;
  beforeEach(async () => {
    api = await RecordedApi.start();
    home = await mkdtemp(path.join(tmpdir(), 'waybill-home-'));
  });
  afterEach(async () => {
    api.stop();
    await rm(home, { recursive: true });
  });

  /** @param line up to the cursor */
  async function candidates(line: string, env: Record<string, string> = {}): Promise<string[]> {
    const { code, out, err } = await api.run([], { COMP_LINE: line, COMP_POINT: String(line.length), ...env });
    expect([code, err]).toEqual([0, '']);
    return out.split('\n').slice(0, -1);
  }

  it('CL-175, CL-176: words of commands, short forms and subcommands', async () => {
    expect(await candidates('waybill jo')).toEqual(['job']);
    expect(await candidates('waybill st')).toEqual(['start', 'status', 'stop']);
    expect(await candidates('waybill alloc-')).toEqual([]);
    expect(await candidates('waybill job tag ')).toEqual(['apply', 'unset']);
    expect(await candidates('waybill node pool in')).toEqual(['info', 'init']);
    expect(await candidates('waybill operator scheduler ')).toEqual(['get-config', 'set-config']);
    expect(api.seen).toEqual([]);
  });

  it('CL-176: flags of the command, values from fixed sets, namespaces', async () => {
    expect(await candidates('waybill job run -var')).toEqual(['-var', '-var-file']);
    expect(await candidates('waybill plan -json-')).toEqual(['-json-output']);
    expect(await candidates('waybill operator scheduler set-config -scheduler-algorithm ')).toEqual([
      'binpack',
      'spread',
    ]);
    api.play('PUT /v1/search', { Matches: { namespaces: ['default', 'dev'] } });
    expect(await candidates('waybill job status -namespace d')).toEqual(['default', 'dev']);
    expect(JSON.parse(api.seen[0]?.body ?? '')).toEqual({ Prefix: 'd', Context: 'namespaces' });
    expect(await candidates('waybill job status -token ')).toEqual([]);
  });

  it.each([
    ['waybill stop we', 'jobs'],
    ['waybill alloc logs -f we', 'allocs'],
    ['waybill trace we', 'evals'],
    ['waybill node drain -enable we', 'nodes'],
    ['waybill deployment promote we', 'deployment'],
    ['waybill status we', 'all'],
  ])('CL-176: IDs after %s', async (line, context) => {
    api.play('PUT /v1/search', { Matches: { [context]: ['web', 'we-2', 'other'] } });
    expect(await candidates(line)).toEqual(['we-2', 'web']);
    expect(JSON.parse(api.seen[0]?.body ?? '')).toEqual({ Prefix: 'we', Context: context });
  });

  it('CL-176: only what the command can do something with', async () => {
    api.play('GET /v1/jobs', [{ ID: 'tick' }]);
    expect(await candidates('waybill job periodic force t')).toEqual(['tick']);
    expect(api.seen[0]?.query.get('filter')).toBe('Periodic is not nil');
    await candidates('waybill job dispatch t');
    expect(api.seen[1]?.query.get('filter')).toContain('ParameterizedJob is not nil');
    api.play('PUT /v1/search', { Matches: { namespaces: ['default', 'dev'] } });
    expect(await candidates('waybill namespace delete d')).toEqual(['dev']);
    expect(await candidates('waybill namespace inspect d')).toEqual(['default', 'dev']);
    api.play('PUT /v1/search', { Matches: { node_pools: ['all', 'default', 'gpu'] } });
    expect(await candidates('waybill node pool delete ')).toEqual(['gpu']);
  });

  it('CL-176: files for those who read one', async () => {
    for (const name of ['a.hcl', 'b.nomad', 'c.json', 'd.txt', 'e.var']) await writeFile(path.join(home, name), '');
    const shown = (line: string) => candidates(`${line} ${home}/`).then((all) => all.map((one) => path.basename(one)));
    expect(await shown('waybill run')).toEqual(['a.hcl', 'b.nomad', 'c.json']);
    expect(await shown('waybill job validate')).toEqual(['a.hcl', 'b.nomad', 'c.json']);
    expect(await shown('waybill job plan -var-file')).toEqual(['e.var']);
  });

  it('CL-175: never an error, and no answer within two seconds is none', async () => {
    for (const line of ['waybill nope ', 'waybill job status -address x://y z', 'waybill job run /nowhere/x'])
      expect(await candidates(line)).toEqual([]);
    api.play('PUT /v1/search', [500, 'boom']);
    expect(await candidates('waybill job status w')).toEqual([]);
    api.play('PUT /v1/search', () => undefined);
    const started = performance.now();
    expect(await candidates('waybill job status w')).toEqual([]);
    expect(performance.now() - started).toBeLessThan(2_900);
  });

  it('CL-175: the hook is installed once, and removed', async () => {
    const env = { HOME: home };
    const file = path.join(home, '.bashrc');
    await writeFile(file, '# mine');
    expect(await api.run(['-autocomplete-install'], env)).toMatchObject({ code: 0, err: '' });
    expect(await readFile(file, 'utf8')).toMatch(/^# mine\ncomplete .* -C .* waybill\n$/);
    expect(await api.run(['-autocomplete-install'], env)).toMatchObject({
      code: 1,
      err: `${file} has the hook already\n`,
    });
    expect((await api.run(['-autocomplete-uninstall'], env)).code).toBe(0);
    expect(await readFile(file, 'utf8')).toBe('# mine\n');
    expect((await api.run(['-autocomplete-uninstall'], env)).code).toBe(1);
  });

  it.runIf(HAS_BASH)('CL-175: bash takes the script, and is answered by the built program (needs bash)', () => {
    const node = process.execPath;
    const script = [
      `source <("${node}" "${BIN}" completion bash)`,
      'complete -p waybill',
      `COMP_LINE="waybill job pro" COMP_POINT=15 "${node}" "${BIN}" waybill pro job`,
    ].join('\n');
    const [hook, answer] = execFileSync('bash', ['-c', script], { cwd: ROOT }).toString().trim().split('\n');
    expect(hook).toMatch(/^complete .*-C .*waybill.js' waybill$/);
    expect(answer).toBe('promote');
  });

  it('CL-108: the general help names what people use, in columns', async () => {
    const { out } = await api.run(['-help']);
    const rows = out.split('\n');
    expect(rows[0]).toBe('Usage: waybill [-version] [-help] [-autocomplete-(un)install] <command> [args]');
    const words = rows.filter((row) => row.startsWith('    ')).map((row) => row.trim().split(/ {2,}/)[0]);
    expect(words.slice(0, 7)).toEqual(['run', 'stop', 'status', 'alloc', 'job', 'node', 'agent']);
    const others = words.slice(words.indexOf('agent') + 1);
    expect(others).toEqual(others.toSorted((a = '', b = '') => (a < b ? -1 : 1)));
    for (const hidden of ['fs', 'init', 'inspect', 'logs', 'plan', 'validate', 'alloc-status', 'node-drain'])
      expect(words).not.toContain(hidden);
    const columns = new Set(
      rows.filter((row) => row.startsWith('    ')).map((row) => /\S {2,}(?=\S)/.exec(row.slice(4))),
    );
    expect(columns.has(null)).toBe(false);
  });

  it('CL-102: old names and short forms still lead to their commands, the longest words first', async () => {
    api.play('GET /v1/jobs', []);
    for (const words of [
      ['start', 'x'],
      ['stop', 'x'],
      ['plan'],
      ['alloc-status'],
      ['eval-status'],
      ['node-status', 'ab'],
    ])
      expect((await api.run(words)).code, words.join(' ')).not.toBe(127);
    expect((await api.run(['job', 'periodic', 'force', 'x'])).err).toContain('No periodic job(s)');
  });

  it('cli.md 1.2: what was mistyped is answered with what was meant', async () => {
    expect(await api.run(['job', 'stat'])).toMatchObject({
      code: 1,
      err: 'Unknown command "job stat". Did you mean "status"?\n',
    });
    expect(await api.run(['jbo'])).toMatchObject({ code: 127, err: 'Unknown command "jbo". Did you mean "job"?\n' });
    expect(await api.run(['job', 'plam'])).toMatchObject({
      code: 1,
      err: 'Unknown command "job plam". Did you mean "plan"?\n',
    });
    expect((await api.run(['job', 'status', '-verbos'])).err).toBe(
      'flag provided but not defined: -verbos\nDid you mean -verbose?\n',
    );
  });
});
