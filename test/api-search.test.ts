import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from './support/api-client.js';
import { eventually } from './support/wait.js';
import { WaybillProcesses } from './support/waybill-processes.js';

interface Found {
  Matches: Record<string, string[]>;
  Truncations: Record<string, boolean>;
}

const CONTEXTS = [
  'allocs',
  'deployment',
  'evals',
  'jobs',
  'namespaces',
  'node_pools',
  'nodes',
  'plugins',
  'scaling_policy',
  'vars',
  'volumes',
  'host_volumes',
];

let waybill: WaybillProcesses;
let api: ApiClient;
let evalId: string;

beforeAll(async () => {
  waybill = await WaybillProcesses.start({}, ['projector', 'broker', 'scheduler', 'api']);
  api = waybill.api;
  for (let i = 10; i < 31; i++) await api.register(shellJob(`web-${i}`, 'true', { count: 0 }));
  evalId = (await api.register(shellJob('web', 'true', { count: 0 }))).EvalID;
  await eventually('the evaluation is done', async () => {
    return (await api.get<{ Status: string }>(`/v1/evaluation/${evalId}`)).Status === 'complete';
  });
});
afterAll(() => waybill?.stop());

const answerOf = async (body: unknown, query = '', method = 'PUT'): Promise<[number, string]> => {
  const answer = await api.raw(`/v1/search${query}`, { method, body: JSON.stringify(body) });
  return [answer.status, await answer.text()];
};
const search = async (Prefix: string, Context: string, query = '', method = 'PUT'): Promise<Found> =>
  JSON.parse((await answerOf({ Prefix, Context }, query, method))[1]) as Found;

describe('search by prefix', () => {
  it('API-4, API-250: every context searched has an entry; no context means all', async () => {
    for (const context of ['', 'all']) {
      const { Matches, Truncations } = await search('web-10', context, '', 'POST');
      expect(Object.keys(Matches).toSorted()).toEqual(CONTEXTS.toSorted());
      expect(Object.keys(Truncations).toSorted()).toEqual(CONTEXTS.toSorted());
      expect(Matches).toMatchObject({ jobs: ['web-10'], nodes: [], evals: [], plugins: [] });
    }
    expect((await search('def', 'namespaces')).Matches).toEqual({ namespaces: ['default'] });
    expect((await search('al', 'node_pools')).Matches).toEqual({ node_pools: ['all'] });
  });

  it('API-250: at most 20 of a context, which says when there are more; the exact one is first', async () => {
    const all = await search('web', 'jobs');
    expect(all.Matches['jobs']).toHaveLength(20);
    expect(all.Matches['jobs']?.[0]).toBe('web');
    expect(all.Truncations).toEqual({ jobs: true });
    expect((await search('web-1', 'jobs')).Truncations).toEqual({ jobs: false });
  });

  it('API-250: the beginning of an ID, of any length, with or without hyphens; what is no ID finds none', async () => {
    for (const prefix of [evalId, evalId.slice(0, 7), evalId.slice(0, 13), evalId.replaceAll('-', '').slice(0, 18)])
      expect((await search(prefix, 'evals')).Matches['evals'], prefix).toContain(evalId);
    expect((await search('web', 'evals')).Matches).toEqual({ evals: [] });
  });

  it('API-251: only the namespace asked for, or all', async () => {
    await api.raw('/v1/namespace', { method: 'PUT', body: JSON.stringify({ Name: 'team' }) });
    expect((await search('web', 'jobs', '?namespace=team')).Matches).toEqual({ jobs: [] });
    expect((await search('web-1', 'jobs', '?namespace=*')).Matches['jobs']).toHaveLength(10);
  });

  it('API-27, API-250: what cannot be searched', async () => {
    expect(await answerOf({ Prefix: 'a', Context: 'cats' })).toEqual([
      500,
      `context must be one of [${CONTEXTS.join(' ')}] or 'all' for all contexts; got "cats"`,
    ]);
    expect((await answerOf({ Prefix: 7 }))[0]).toBe(400);
  });
});
