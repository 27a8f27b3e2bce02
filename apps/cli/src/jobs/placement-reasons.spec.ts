import { expect, it } from 'vitest';
import type { ApiClient } from '../server/api-client.js';
import { failureLines, placementReasons } from './placement-reasons.js';

const JOB = { TaskGroups: [{ Name: 'web', Tasks: [{ Driver: 'podmann' }] }] };
const DRIVERS = { NodesEvaluated: 1, ConstraintFiltered: { 'missing drivers': 1 } };
const KERNEL = { NodesEvaluated: 1, ConstraintFiltered: { '${attr.kernel.name} = windows': 1 } };

/** A server of so many machines, which records the paths that are read. */
function server(machines: number, kernel = 'linux') {
  const asked: string[] = [];
  const node = (n: number) => ({ ID: `n${n}`, NodePool: 'default', Status: 'ready', Drivers: {} });
  const get = async (path: string) => {
    asked.push(path);
    if (path === '/v1/nodes') return { value: Array.from({ length: machines }, (_, n) => node(n)) };
    return { value: { ...node(0), Attributes: { 'kernel.name': kernel }, Meta: {} } };
  };
  return { asked, api: { get } as unknown as ApiClient };
}

it('CL-221: no failed group, no read', async () => {
  const { asked, api } = server(1);
  expect(await placementReasons(api, () => JOB, [])).toEqual(new Map());
  expect(asked).toEqual([]);
});

it('CL-221: machines are read one by one where an attribute is compared, twenty of them at most', async () => {
  const { asked, api } = server(30);
  expect(await placementReasons(api, () => JOB, [['web', DRIVERS]])).toEqual(
    new Map([['web', ['* driver "podmann" is on none of 30 nodes']]]),
  );
  expect(asked).toEqual(['/v1/nodes']);
  await placementReasons(api, () => JOB, [['web', KERNEL]]);
  expect(asked.filter((path) => path.startsWith('/v1/node/'))).toHaveLength(20);
});

it('CL-221: a failed read, and a group that the job does not have, leave the bullets of the contract', async () => {
  const { api } = server(1);
  expect(await placementReasons(api, () => JOB, [['other', DRIVERS]])).toEqual(new Map());
  const away = { get: () => Promise.reject(new Error('403')) };
  expect(await placementReasons(away, () => JOB, [['web', DRIVERS]])).toEqual(new Map());
});

it('CL-139: a value of a machine does not drive the terminal', async () => {
  const { api } = server(1, '\u001b[2Jlinux');
  const reasons = await placementReasons(api, () => JOB, [['web', KERNEL]]);
  const lines = failureLines(['web', KERNEL], reasons, (text) => text);
  expect(lines).toHaveLength(2);
  expect(lines.join('')).not.toContain('\u001b');
  expect(lines[1]).toContain('linux');
});
