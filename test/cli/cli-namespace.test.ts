import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let waybill: WaybillProcesses;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'api']);
  for (const Name of ['team-a', 'team-b'])
    await waybill.api.raw('/v1/namespace', { method: 'PUT', body: JSON.stringify({ Name, Description: 'x' }) });
});
afterAll(() => waybill?.stop());

const run = (...words: string[]) => runCli(waybill.api.url, ['namespace', ...words]);

it('namespace list shows them by name, as a table or as JSON', async () => {
  const { code, out } = await run('list');
  expect([code, out]).toEqual([0, 'Name     Description\ndefault  Default shared namespace\nteam-a   x\nteam-b   x\n']);
  expect(JSON.parse((await run('list', '-json')).out)).toHaveLength(3);
});

it('CL-157: namespace inspect takes a name or the beginning of one', async () => {
  expect(JSON.parse((await run('inspect', 'team-a')).out)).toMatchObject({ Name: 'team-a', Description: 'x' });
  expect(JSON.parse((await run('inspect', 'def')).out)).toMatchObject({ Name: 'default' });
  const several = await run('inspect', 'team');
  expect([several.code, several.err]).toEqual([1, expect.stringContaining('Prefix matched multiple namespaces')]);
  const none = await run('inspect', 'nowhere');
  expect([none.code, none.err]).toEqual([1, expect.stringContaining('Namespace "nowhere" matched no namespaces')]);
});

it('namespace delete says what it did, or why not', async () => {
  expect(await run('delete', 'team-b')).toMatchObject({ code: 0, out: 'Successfully deleted namespace "team-b"!\n' });
  const refused = await run('delete', 'default');
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/Error deleting namespace: .*can not delete default namespace/);
});
