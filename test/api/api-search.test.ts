import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

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
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'scheduler', 'api']);
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
      400,
      `context must be one of [${CONTEXTS.join(' ')}] or 'all' for all contexts; got "cats"`,
    ]);
    expect((await answerOf({ Prefix: 7 }))[0]).toBe(400);
  });
});

describe('search by any part of a name', () => {
  interface FuzzyFound {
    Matches: Record<string, { ID: string; Scope?: string[] }[]>;
    Truncations: Record<string, boolean>;
  }
  const fuzzy = async (Text: string, Context: string): Promise<FuzzyFound> => {
    const answer = await api.raw('/v1/search/fuzzy', { method: 'POST', body: JSON.stringify({ Text, Context }) });
    return (await answer.json()) as FuzzyFound;
  };

  it('API-252: a job is found by its name, its groups, tasks and commands, each with where it is', async () => {
    const found = await fuzzy('SH', 'jobs');
    expect([Object.keys(found.Matches), Object.keys(found.Truncations)]).toEqual([['commands'], ['commands']]);
    expect(found.Matches['commands']?.[0]).toEqual({ ID: '/bin/sh', Scope: ['default', 'web', 'group', 'task'] });
    const { Matches } = await fuzzy('rou', 'jobs');
    expect(Matches['groups']?.[0]).toEqual({ ID: 'group', Scope: ['default', 'web'] });
    expect((await fuzzy('ask', 'jobs')).Matches['tasks']?.[0]).toEqual({
      ID: 'task',
      Scope: ['default', 'web', 'group'],
    });
  });

  it('API-252: earlier in the name, then shorter, then by alphabet; 20 at most, and it is said', async () => {
    const { Matches, Truncations } = await fuzzy('eb', 'jobs');
    const ids = Matches['jobs']?.map(({ ID }) => ID) ?? [];
    expect(ids.slice(0, 3)).toEqual(['web', 'web-10', 'web-11']);
    expect(ids).toHaveLength(20);
    expect(Truncations).toEqual({ jobs: true });
  });

  it('API-252: what has no name but its ID is found by its beginning; the rest by name', async () => {
    expect((await fuzzy(evalId.slice(0, 8), 'evals')).Matches).toEqual({ evals: [{ ID: evalId }] });
    expect((await fuzzy('faul', 'namespaces')).Matches).toEqual({ namespaces: [{ ID: 'default' }] });
    expect(await fuzzy('zz', 'all')).toMatchObject({ Matches: {}, Truncations: {} });
    expect(Object.keys((await fuzzy('zz', 'all')).Matches)).toEqual([]);
  });

  it('API-253: two characters at least', async () => {
    const answer = await api.raw('/v1/search/fuzzy', { method: 'PUT', body: '{"Text":"x","Context":"jobs"}' });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      'fuzzy search query must be at least 2 characters, got 1',
    ]);
  });
});

describe('the overview of jobs', () => {
  interface StatusRow {
    ID: string;
    ParentID: string;
    ModifyIndex: number;
    ChildStatuses: string[] | null;
  }
  const statuses = (query = '', body?: unknown): Promise<Response> =>
    api.raw(`/v1/jobs/statuses${query}`, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) });
  const rows = async (query = '', body?: unknown) => (await (await statuses(query, body)).json()) as StatusRow[];

  it('API-185: newest change first, in pages that neither repeat nor skip', async () => {
    const all = await rows();
    const indexes = all.map(({ ModifyIndex }) => ModifyIndex);
    expect(all.length).toBe(22);
    expect(indexes).toEqual(indexes.toSorted((a, b) => b - a));
    const paged: StatusRow[] = [];
    for (let token = ''; ;) {
      const answer = await statuses(`?per_page=5&next_token=${encodeURIComponent(token)}`);
      paged.push(...((await answer.json()) as StatusRow[]));
      token = answer.headers.get('x-nomad-nexttoken') ?? '';
      if (token === '') break;
    }
    expect(paged).toEqual(all);
    expect((await rows('?reverse=true')).map(({ ID }) => ID)).toEqual(all.map(({ ID }) => ID).toReversed());
  });

  it('API-185: only those that are named; none named is refused', async () => {
    const named = { Jobs: [{ ID: 'web', Namespace: 'default' }, { ID: 'nobody' }] };
    expect(await rows('', named)).toMatchObject([
      {
        ID: 'web',
        Namespace: 'default',
        Type: 'service',
        GroupCountSum: 0,
        Allocs: [],
        ChildStatuses: null,
        LatestDeployment: null,
        IsPack: false,
        Stop: false,
      },
    ]);
    const refused = await statuses('', { Jobs: [] });
    expect([refused.status, await refused.text()]).toEqual([400, 'no jobs in request']);
  });

  it('API-185: children are counted by their parent, and listed when asked for', async () => {
    const parent = { ...shellJob('batches', 'true', { type: 'batch' }), ParameterizedJob: {} };
    await api.register(parent);
    await api.raw('/v1/job/batches/dispatch', { method: 'PUT', body: '{}' });
    const top = await rows();
    expect(top.every(({ ParentID }) => ParentID === '')).toBe(true);
    expect(top.find(({ ID }) => ID === 'batches')?.ChildStatuses).toHaveLength(1);
    const all = await rows('?include_children=true');
    expect(all.filter(({ ParentID }) => ParentID === 'batches')).toHaveLength(1);
  });

  it('API-185: a waiting request sleeps through what happens to other jobs, and wakes for its own', async () => {
    const named = { Jobs: [{ ID: 'web' }] };
    const first = await statuses('', named);
    const index = Number(first.headers.get('x-nomad-index'));
    const waiting = statuses(`?index=${index}&wait=20s`, named);
    const other = await api.register(shellJob('web-10', 'true', { count: 0, type: 'service' }));
    const changed = await api.register({ ...shellJob('web', 'true', { count: 0 }), Priority: 70 });
    const woken = await waiting;
    expect(Number(woken.headers.get('x-nomad-index'))).toBeGreaterThanOrEqual(changed.Index);
    expect(changed.Index).toBeGreaterThan(other.Index);
    expect(await woken.json()).toMatchObject([{ ID: 'web', Priority: 70 }]);
  });
});
