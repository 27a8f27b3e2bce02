import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** What holds for every endpoint: headers, numbers, errors, namespaces, blocking, lists. */

const NOWHERE = '00000000-0000-4000-8000-000000000000';

let waybill: WaybillProcesses;
let api: ApiClient;
let nodeId: string;
let allocId: string;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({ WAYBILL_HTTP_RESPONSE_HEADERS: 'X-Site=lab,X-Rack=7' });
  api = waybill.api;
  await eventually('the node is ready', async () => {
    const [node] = await api.get<{ ID: string; Status: string }[]>('/v1/nodes');
    nodeId = node?.ID ?? '';
    return node?.Status === 'ready';
  });
  await api.register(shellJob('web', 'exec sleep 600', { count: 2 }));
  await eventually('both run', async () => {
    const allocs = await api.get<{ ID: string; ClientStatus: string }[]>('/v1/job/web/allocations');
    allocId = allocs[0]?.ID ?? '';
    return allocs.length === 2 && allocs.every((a) => a.ClientStatus === 'running');
  });
});
afterAll(() => waybill?.stop());

const answerOf = async (path: string, init?: RequestInit): Promise<[number, string]> => {
  const answer = await api.raw(path, init);
  return [answer.status, await answer.text()];
};
const put = (body: unknown, method = 'PUT'): RequestInit => ({
  method,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
/** What a job with no more than this in its body is answered with. */
const registered = async (job: object, query = '', envelope: object = {}): Promise<[number, string]> =>
  answerOf(`/v1/jobs${query}`, put({ Job: job, ...envelope }));

/** As it comes over the wire: `fetch` would unpack it. */
async function rawGet(path: string, headers: Record<string, string>, method = 'GET', localAddress?: string) {
  const sent = httpRequest(`${api.url}${path}`, { method, headers, localAddress }).end();
  const [answer] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode, headers: answer.headers as IncomingHttpHeaders, body: Buffer.concat(chunks) };
}

describe('routes and methods', () => {
  it('API-4: PUT and POST are the same', async () => {
    for (const method of ['PUT', 'POST']) {
      expect(
        (await answerOf('/v1/jobs', put({ Job: shellJob(`by-${method}`, 'true', { count: 0 }) }, method)))[0],
      ).toBe(200);
      expect((await answerOf(`/v1/job/by-${method}/evaluate`, put({ JobID: `by-${method}` }, method)))[0]).toBe(200);
    }
  });

  it('API-3, OP-3: what is asked of a job in a way that it does not take is a wrong method, not something unknown', async () => {
    const [READ, WRITE] = [
      ['PUT', 'POST', 'DELETE'],
      ['GET', 'DELETE'],
    ];
    const refused: Record<string, readonly string[]> = {
      summary: READ,
      allocations: READ,
      evaluations: READ,
      deployments: READ,
      deployment: READ,
      versions: READ,
      submission: READ,
      services: READ,
      actions: READ,
      evaluate: WRITE,
      plan: WRITE,
      'periodic/force': WRITE,
      dispatch: WRITE,
      'dispatch/payload': WRITE,
      revert: WRITE,
      stable: WRITE,
      scale: ['DELETE'],
      'versions/v1/tag': ['GET'],
    };
    for (const [sub, methods] of Object.entries(refused))
      for (const method of methods)
        expect([method, sub, ...(await answerOf(`/v1/job/web/${sub}`, { method }))]).toEqual([
          method,
          sub,
          405,
          'Invalid method',
        ]);
    expect(await answerOf('/v1/job/a/b/versions/x/tag')).toEqual([404, 'invalid job tag endpoint']); // API-7
  });

  it('API-80: what takes WebSockets only says so', async () => {
    for (const path of [`/v1/client/allocation/${allocId}/exec?task=task`, '/v1/job/web/action'])
      expect(await answerOf(path)).toEqual([400, 'this path takes WebSockets only']);
  });

  it('API-8: HEAD is a wrong method', async () => {
    expect((await api.raw('/v1/jobs', { method: 'HEAD' })).status).toBe(405);
  });

  it('API-9, OP-7, OP-235: what only the commercial edition has', async () => {
    for (const path of [
      'sentinel/policies',
      'sentinel/policy/a',
      'quotas',
      'quota-usages',
      'quota',
      'quota/a',
      'recommendation',
      'recommendations',
      'recommendations/apply',
      'recommendation/a',
    ])
      for (const method of ['GET', 'PUT', 'POST', 'DELETE'])
        expect(await answerOf(`/v1/${path}`, { method }), path).toEqual([501, 'Nomad Enterprise only endpoint']);
    expect(await answerOf('/v1/operator/license')).toEqual([204, '']);
    expect((await answerOf('/v1/operator/license', { method: 'PUT' }))[0]).toBe(501);
  });
});

describe('what is sent', () => {
  it('API-11: JSON says so; nothing to say is an empty body', async () => {
    expect((await api.raw('/v1/jobs')).headers.get('content-type')).toBe('application/json');
    const empty = await api.raw('/v1/system/gc', { method: 'PUT' });
    expect([empty.status, await empty.text(), empty.headers.get('content-type')]).toEqual([200, '', null]);
  });

  it('API-713, API-12, API-13, API-14: names, durations in nanoseconds, times as numbers or RFC 3339', async () => {
    const job = await api.get<object>('/v1/job/web');
    for (const name of Object.keys(job)) expect(name).toMatch(/^[A-Z]/);
    expect(job).toMatchObject({ TaskGroups: [{ Tasks: [{ KillTimeout: 2_000_000_000 }] }] });
    expect((job as { SubmitTime: number }).SubmitTime).toBeGreaterThan(1.7e18);
    const node = await api.get<{ StatusUpdatedAt: number; DrainStrategy: null }>(`/v1/node/${nodeId}`);
    expect(node.StatusUpdatedAt).toBeLessThan(1e11);
    expect(node.DrainStrategy).toBeNull();
    const alloc = await api.get<object>(`/v1/allocation/${allocId}`);
    const StartedAt: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    expect(alloc).toMatchObject({ TaskStates: { task: { StartedAt, FinishedAt: null } } });
    expect(JSON.stringify([job, node, alloc])).not.toContain('0001-01-01');
  });

  it('API-16: an empty list is a list', async () => {
    for (const path of [
      '/v1/jobs?prefix=none',
      '/v1/nodes?prefix=ffffffffff',
      '/v1/allocations?namespace=none',
      '/v1/evaluations?namespace=none',
      '/v1/deployments?namespace=none',
      '/v1/job/none/allocations',
      '/v1/job/none/evaluations',
      '/v1/job/none/deployments',
    ])
      expect(await answerOf(path), path).toEqual([200, '[]']);
  });

  it('API-18: HTML characters are themselves', async () => {
    await registered({ ...shellJob('markup', 'true', { count: 0 }), Meta: { a: '<b>&</b>' } });
    expect((await answerOf('/v1/job/markup'))[1]).toContain('<b>&</b>');
  });

  it('API-19: pretty is four spaces and a line break at the end', async () => {
    for (const query of ['pretty', 'pretty=1', 'pretty=true'])
      expect((await answerOf(`/v1/regions?${query}`))[1], query).toBe('[\n    "global"\n]\n');
    for (const query of ['', 'pretty=0']) expect((await answerOf(`/v1/regions?${query}`))[1]).toBe('["global"]');
  });

  it('OP-229, API-23: gzip for those who ask, never for a stream; caches are told', async () => {
    const plain = await rawGet('/v1/job/web', {});
    expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    const packed = await rawGet('/v1/job/web', { 'Accept-Encoding': 'gzip' });
    expect(packed.headers).toMatchObject({ vary: 'Accept-Encoding', 'content-encoding': 'gzip' });
    expect(packed.headers['content-length']).toBe(String(packed.body.length));
    expect(gunzipSync(packed.body).toString()).toBe(plain.body.toString());
    const failed = await rawGet('/v1/job/none', { 'Accept-Encoding': 'gzip' });
    expect([failed.status, gunzipSync(failed.body).toString()]).toEqual([404, 'job not found']);

    const stream = httpRequest(`${api.url}/v1/event/stream`, { headers: { 'Accept-Encoding': 'gzip' } }).end();
    const [events] = (await once(stream, 'response')) as [import('node:http').IncomingMessage];
    expect(events.headers['content-encoding']).toBeUndefined();
    stream.destroy();
  });

  it('API-24, OP-8: configured headers, on errors and streams too', async () => {
    for (const path of ['/v1/jobs', '/v1/job/none', '/v1/event/stream', '/v1/unknown']) {
      const gone = new AbortController();
      const { headers } = await api.raw(path, { signal: gone.signal });
      expect([headers.get('x-site'), headers.get('x-rack')], path).toEqual(['lab', '7']);
      gone.abort();
    }
  });

  it('OP-230, API-34, API-79: pages of other origins may read what tasks wrote, and nothing runs there', async () => {
    const { headers } = await rawGet(`/v1/client/fs/logs/${allocId}?task=task&type=stdout&plain=true`, {});
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-headers': '*',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'HEAD,GET',
      'x-content-type-options': 'nosniff',
      'x-xss-protection': '1; mode=block',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    });
    expect((await rawGet('/v1/client/stats', {}, 'OPTIONS')).status).toBe(204);
    expect((await rawGet('/v1/jobs', {})).headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('what is accepted', () => {
  it('API-26: the first value counts, whatever follows and whatever the content type', async () => {
    const body = `${JSON.stringify({ Job: shellJob('first', 'true', { count: 0 }) })} {"Job": 7} rubbish`;
    expect((await answerOf('/v1/jobs', { ...put(body), headers: { 'Content-Type': 'text/html' } }))[0]).toBe(200);
  });

  it('API-28: namespace and region in the body count where the query does not name them', async () => {
    const nowhere = { ...shellJob('elsewhere', 'true', { count: 0 }), Namespace: 'nowhere' };
    expect(await registered(nowhere)).toEqual([400, expect.stringContaining('nonexistent namespace "nowhere"')]);
    const [status] = await answerOf(
      '/v1/job/web/evaluate?namespace=default',
      put({ JobID: 'web', Namespace: 'nowhere' }),
    );
    expect(status).toBe(200);
  });

  it("API-28: every write that is about an object of a namespace looks for it in the body's where the query names none", async () => {
    const nowhere = { JobID: 'web', Namespace: 'nowhere' };
    const missing: [path: string, body: object, text: string][] = [
      ['/v1/job/web/evaluate', nowhere, 'job not found'],
      ['/v1/job/web/revert', { ...nowhere, JobVersion: 0 }, 'not found'],
      ['/v1/job/web/stable', { ...nowhere, JobVersion: 0, Stable: true }, 'not found'],
      ['/v1/job/web/scale', { Count: 2, Target: { Group: 'group' }, Namespace: 'nowhere' }, 'not found'],
      ['/v1/job/web/dispatch', nowhere, 'parameterized job not found'],
      ['/v1/job/web/versions/tag/tag', { Version: 0, Namespace: 'nowhere' }, 'not found'],
    ];
    for (const [path, body, text] of missing) {
      const answer = await answerOf(path, put(body));
      expect(answer[1], path).toContain(text);
      expect((await answerOf(`${path}?namespace=default`, put(body)))[1], path).not.toBe(answer[1]);
    }
    const found = async (query: string, Namespace: string) =>
      JSON.parse((await answerOf(`/v1/search${query}`, put({ Prefix: 'web', Context: 'jobs', Namespace })))[1]) as {
        Matches: { jobs: string[] | null };
      };
    expect((await found('', 'nowhere')).Matches.jobs ?? []).toEqual([]);
    expect((await found('?namespace=default', 'nowhere')).Matches.jobs).toEqual(['web']);
    expect((await found('', '*')).Matches.jobs).toEqual(['web']);
  });

  it('OP-1, API-30: with access control off any token will do, or none', async () => {
    for (const headers of [[], [['X-Nomad-Token', ' abc ']], [['Authorization', 'bearer abc']]] as [string, string][][])
      expect((await answerOf('/v1/jobs', { headers }))[0]).toBe(200);
  });

  it('API-73: what counts as true, false and not given', async () => {
    for (const value of ['1', 't', 'T', 'TRUE', 'true', 'True'])
      expect((await answerOf(`/v1/nodes?resources=${value}`))[1], value).toContain('"NodeResources"');
    for (const query of [
      'resources=0',
      'resources=f',
      'resources=F',
      'resources=FALSE',
      'resources=false',
      'resources',
      'resources=',
    ])
      expect((await answerOf(`/v1/nodes?${query}`))[1], query).not.toContain('"NodeResources"');
    const text = (name: string) => `Failed to parse value of "${name}" (maybe) as a bool: `;
    expect(await answerOf('/v1/allocations?resources=maybe')).toEqual([
      400,
      expect.stringContaining(text('resources')),
    ]);
    expect(await answerOf('/v1/jobs?meta=maybe')).toEqual([400, expect.stringContaining(text('meta'))]);
    expect(await answerOf('/v1/nodes?resources=maybe')).toEqual([
      400,
      expect.stringContaining(`Failed to parse node list fields: ${text('resources')}`),
    ]);
    expect((await answerOf('/v1/job/web/allocations?all=maybe'))[0]).toBe(200);
  });
});

describe('errors', () => {
  it('API-35, API-38: plain text with a status that says it failed', async () => {
    const answer = await api.raw('/v1/job/none');
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      404,
      'text/plain; charset=utf-8',
      'job not found',
    ]);
  });

  it('API-41: an id that is none, and one that is not there', async () => {
    expect(await answerOf('/v1/allocation/abc')).toEqual([
      400,
      'alloc lookup failed: index error: UUID must be 36 characters',
    ]);
    expect(await answerOf('/v1/node/abc')).toEqual([
      400,
      'node lookup failed: index error: UUID must be 36 characters',
    ]);
    expect(await answerOf('/v1/deployment/abc')).toEqual([
      400,
      'deployment lookup failed: index error: UUID must be 36 characters',
    ]);
    expect(await answerOf('/v1/evaluation/abc')).toEqual([400, expect.stringMatching(/^failed to lookup eval: /)]);
    for (const kind of ['allocation', 'node', 'deployment', 'evaluation'])
      expect((await answerOf(`/v1/${kind}/${NOWHERE}`))[0], kind).toBe(404);
    // What is below a name that nobody has is an empty list, however the name looks.
    for (const id of [NOWHERE, 'abc', 'zz', 'x'.repeat(40)])
      for (const path of [
        `/v1/node/${id}/allocations`,
        `/v1/evaluation/${id}/allocations`,
        `/v1/deployment/allocations/${id}`,
        `/v1/job/${id}/allocations`,
        `/v1/job/${id}/evaluations`,
        `/v1/job/${id}/deployments`,
        `/v1/node/pool/${id}/nodes`,
        `/v1/node/pool/${id}/jobs`,
        `/v1/service/${id}`,
      ])
        expect(await answerOf(path), path).toEqual([200, '[]']);
  });
});

describe('headers of reads, and blocking', () => {
  const indexOf = (answer: Response) => Number(answer.headers.get('x-nomad-index'));

  it('OP-5, API-31, API-32, API-33, ST-157: index, age and leader, also of what is empty or missing', async () => {
    for (const path of ['/v1/jobs', '/v1/allocations?namespace=none', '/v1/job/none', `/v1/allocation/${NOWHERE}`]) {
      const answer = await api.raw(path);
      expect(indexOf(answer), path).toBeGreaterThanOrEqual(1);
      expect(answer.headers.get('x-nomad-lastcontact'), path).toMatch(/^\d+$/);
      expect(answer.headers.get('x-nomad-knownleader'), path).toBe('true');
      expect(answer.headers.get('x-nomad-nexttoken'), path).toBeNull();
    }
    // Nothing was ever written to these; lists that agents and proxies poll carry 1 all the same (API-54).
    for (const path of ['/v1/volumes?type=csi', '/v1/plugins', '/v1/scaling/policies', '/v1/volumes/claims'])
      expect(indexOf(await api.raw(path)), path).toBe(0);
    for (const path of ['/v1/services', '/v1/service/none', `/v1/node/${NOWHERE}/allocations`])
      expect(indexOf(await api.raw(path)), path).toBeGreaterThanOrEqual(1);
    const written = await api.raw('/v1/jobs', put({ Job: shellJob('headers', 'true', { count: 0 }) }));
    expect(indexOf(written)).toBeGreaterThan(1);
    expect(written.headers.get('x-nomad-knownleader')).toBeNull();
  });

  it('API-33, API-58: those who wait for what is missing are all woken when it appears', async () => {
    const appeared = async (): Promise<unknown> => {
      let index = 0;
      // Other jobs wake them too, as the index of what is missing is its table's.
      for (;;) {
        const answer = await api.raw(`/v1/job/awaited?index=${index}&wait=60s`);
        if (answer.ok) return answer.json();
        expect(answer.status).toBe(404);
        expect(indexOf(answer)).toBeGreaterThan(index);
        index = indexOf(answer);
      }
    };
    const waiting = Array.from({ length: 20 }, appeared);
    await api.register(shellJob('awaited', 'true', { count: 0 }));
    for (const job of await Promise.all(waiting)) expect(job).toMatchObject({ ID: 'awaited' });
  });

  it('API-47, API-48, API-57, API-62, OP-2: index, wait, per_page and stale that cannot be read', async () => {
    expect(await answerOf('/v1/jobs?index=x')).toEqual([400, 'Invalid index']);
    expect(await answerOf('/v1/jobs?wait=soon')).toEqual([400, 'Invalid wait time']);
    expect(await answerOf('/v1/jobs?stale=maybe')).toEqual([
      400,
      'Expect `true` or `false` for `stale` query string parameter',
    ]);
    expect(await answerOf('/v1/jobs?per_page=some')).toEqual([
      400,
      'Expect a number for `per_page` query string parameter',
    ]);
    for (const query of ['index=0', 'wait=1h30m', 'wait=10000ms', 'stale', 'stale=', 'stale=1', 'consistent'])
      expect((await answerOf(`/v1/jobs?${query}`))[0], query).toBe(200);
  });

  it('API-59: what does not block ignores the index', async () => {
    for (const path of ['/v1/status/leader', '/v1/agent/self', '/v1/regions'])
      expect((await answerOf(`${path}?index=99999999&wait=60s`))[0]).toBe(200);
  });

  it('API-52, API-54: the index of one object is its own, of a list its table’s', async () => {
    const job = await api.get<{ ModifyIndex: number }>('/v1/job/web');
    expect(indexOf(await api.raw('/v1/job/web'))).toBe(job.ModifyIndex);
    const before = indexOf(await api.raw('/v1/job/web'));
    await api.register(shellJob('another', 'true', { count: 0 }));
    expect(indexOf(await api.raw('/v1/job/web'))).toBe(before);
    expect(indexOf(await api.raw('/v1/jobs'))).toBeGreaterThan(before);
    const missing = indexOf(await api.raw('/v1/job/none'));
    expect(missing).toBeGreaterThan(before);
  });
});

describe('namespaces', () => {
  it('API-44, API-46: everywhere with a star, allocations whatever the namespace, jobs only in theirs', async () => {
    expect((await api.get<unknown[]>('/v1/allocations?namespace=*')).length).toBeGreaterThan(1);
    expect((await answerOf(`/v1/allocation/${allocId}?namespace=other`))[0]).toBe(200);
    expect((await answerOf('/v1/job/web?namespace=other'))[0]).toBe(404);
    expect((await answerOf('/v1/job/web?namespace=*'))[0]).toBe(404);
  });

  it('API-45: reading one that is not there is an empty list', async () => {
    expect(await answerOf('/v1/jobs?namespace=nowhere')).toEqual([200, '[]']);
  });
});

describe('lists', () => {
  it('API-60, API-61: a prefix of an id, in any case, with or without its hyphens where they belong', async () => {
    expect(await answerOf('/v1/allocations?prefix=abc')).toEqual([
      400,
      expect.stringContaining('Input (without hyphens) must be even length'),
    ]);
    expect((await answerOf('/v1/allocations?prefix=xyz!'))[0]).toBe(400);
    for (const prefix of [allocId.slice(0, 8), allocId.slice(0, 8).toUpperCase(), allocId.slice(0, 11), allocId]) {
      const found = await api.get<{ ID: string }[]>(`/v1/allocations?prefix=${prefix}`);
      expect(
        found.map((a) => a.ID),
        prefix,
      ).toContain(allocId);
    }
    expect(await api.get('/v1/jobs?prefix=we')).toMatchObject([{ ID: 'web' }]);
  });

  it('API-66, API-77: from the end; what else is shown changes neither order nor pages', async () => {
    const path = '/v1/allocations?per_page=1';
    const forward = await api.raw(path);
    const first = (await forward.json()) as { ID: string }[];
    const rest = await api.get<{ ID: string }[]>(`${path}&next_token=${forward.headers.get('x-nomad-nexttoken')}`);
    const backward = await api.raw(`${path}&reverse=true&resources=true&task_states=false`);
    const last = (await backward.json()) as { ID: string; TaskStates: null; AllocatedResources: object }[];
    expect(last).toMatchObject([{ ID: rest[0]!.ID, TaskStates: null }]); // API-76
    expect(last[0]!.AllocatedResources).toMatchObject({ Tasks: { task: {} } }); // API-75
    const before = await api.get<{ ID: string }[]>(
      `${path}&reverse=true&next_token=${backward.headers.get('x-nomad-nexttoken')}`,
    );
    expect(before.map((a) => a.ID)).toEqual(first.map((a) => a.ID));
    expect(await api.get(`${path}&reverse=yes`)).toMatchObject([{ ID: first[0]!.ID }]);
  });

  it('API-74, API-75, API-76: more and less of nodes and allocations', async () => {
    interface Stub {
      Attributes?: object | null;
      NodeResources?: { Cpu: { CpuShares: number } };
      ReservedResources?: object;
    }
    const [plain] = await api.get<Stub[]>('/v1/nodes');
    expect(plain).not.toHaveProperty('NodeResources');
    expect(plain?.Attributes ?? null).toBeNull();
    const [more] = await api.get<Stub[]>('/v1/nodes?resources=true&os=true');
    expect(more?.NodeResources?.Cpu.CpuShares).toBeGreaterThan(0);
    expect(more?.ReservedResources).toBeTruthy();
    expect(Object.keys(more?.Attributes ?? {})).toEqual(['os.name']);
    const [alloc] = await api.get<{ TaskStates: { task: { Events: { DisplayMessage: string }[] } } }[]>(
      `/v1/allocations?prefix=${allocId}`,
    );
    expect(alloc).not.toHaveProperty('AllocatedResources');
    const messages = alloc?.TaskStates.task.Events.map((event) => event.DisplayMessage) ?? [];
    expect(messages.length).toBeGreaterThan(0);
    expect(messages).not.toContain('');
  });
});

describe('too many connections', () => {
  it('OP-272, API-10: beyond a hundred that wait are refused with a text, which holds up no machine; others are let in afterwards', async () => {
    await api.register(shellJob('short', 'sleep 2', { type: 'batch' }));
    const path = '/v1/job/short/allocations';
    const index = await eventually('it runs', async () => {
      const answer = await api.raw(path);
      const [alloc] = (await answer.json()) as { ClientStatus: string }[];
      return alloc?.ClientStatus === 'running' && answer.headers.get('x-nomad-index');
    });
    const asked = Array.from({ length: 101 }, () => rawGet(`${path}?index=${index}&wait=30s`, {}, 'GET', '127.0.0.2'));
    const answers = await Promise.all(asked);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(1);
    for (const { body } of refused)
      expect(body.toString()).toBe(
        'Your IP is issuing too many concurrent connections, please rate limit your calls\n',
      );
    // All others waited for what the machine had to say meanwhile.
    for (const { status, body } of answers.filter((one) => !refused.includes(one)))
      expect([status, JSON.parse(body.toString())]).toMatchObject([200, [{ ClientStatus: 'complete' }]]);
    await eventually(
      'others are let in again',
      async () => (await rawGet('/v1/regions', {}, 'GET', '127.0.0.2')).status === 200,
    );
  });
});
