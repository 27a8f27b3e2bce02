import { Acl } from '@waybill/acl';
import { FakeTime } from '@waybill/model';
import { Watches } from '@waybill/projection';
import { describe, expect, it } from 'vitest';
import { anonymous } from '../access/caller.js';
import { ofObject } from '../access/needs.js';
import { RequestAccess } from '../access/request-access.js';
import { BlockingQueries } from './blocking-query.js';
import { ResponseCache } from './response-cache.js';
import { Reads } from './reads.js';
import type { ApiReply, ApiRequest } from './reply.js';
import { aRequest } from './request.fixture.js';

/** Reads of a PostgreSQL that does not change. */
function unchanging() {
  const time = new FakeTime();
  const watches = new Watches(time);
  const cache = new ResponseCache({
    readPoint: async () => ({ applied: 7, tableIndexes: { allocs: 7 } }),
    announced: async () => true,
    onChangeOf: (watched, run) => watches.listen(watched, run),
  });
  const blocking = new BlockingQueries(watches, time, () => 0);
  return new Reads(blocking, () => ({ lastContactMs: 0, knownLeader: true }), cache);
}

/** The status and the body that a handler answers; a refusal is thrown. */
async function answered(handle: (reply: ApiReply) => Promise<void>): Promise<[number, unknown]> {
  let answer: [number, unknown] = [0, undefined];
  const reply = {
    code: (status: number) => ((answer = [status, undefined]), reply),
    header: () => reply,
    send: (body: Buffer) => ((answer = [answer[0], JSON.parse(body.toString())]), reply),
  };
  // The rest is Fastify's, and no read looks at it.
  await handle(reply as unknown as ApiReply);
  return answer;
}

const accessWith = (rules: string): RequestAccess =>
  new RequestAccess(
    anonymous(Acl.compile([{ name: 'p', modifyIndex: 1, rules }])),
    ofObject('read-job'),
    'default',
    async () => ['default', 'prod'],
  );

describe('a cached response', () => {
  it('OP-141, OP-142: of an object is shown to whoever may see its namespace, whoever asked before', async () => {
    const reads = unchanging();
    let queries = 0;
    const ask = (access?: RequestAccess) => {
      const request = aRequest({ url: '/v1/allocation/a1', ...(access && { access }) });
      return answered((reply) =>
        reads.object(request, reply, {
          watched: [['allocs', 'a1']],
          query: async () => ((queries += 1), { index: 5, value: { ID: 'a1' }, namespace: 'prod' }),
          missing: 'alloc not found',
          shownTo: request.access,
        }),
      );
    };
    const everybody = new RequestAccess(anonymous(Acl.management), ofObject('read-job'), 'default', async () => []);
    expect(await ask(everybody)).toEqual([200, { ID: 'a1' }]);
    expect(await ask(accessWith('namespace "prod" { policy = "read" }'))).toEqual([200, { ID: 'a1' }]);
    await expect(ask(accessWith('namespace "default" { policy = "read" }'))).rejects.toThrow('alloc not found');
    await expect(ask(accessWith('namespace "test" { policy = "read" }'))).rejects.toThrow('Permission denied');
    expect(queries).toBe(1);
  });

  it('OP-140: of a list belongs to callers who see the same namespaces, and to one list', async () => {
    const reads = unchanging();
    const list = (scope: readonly string[], query: ApiRequest['query'] = {}) => {
      const request = aRequest({ url: '/v1/allocations', query });
      const value = { scope, query };
      return answered((reply) =>
        reads.list(request, reply, { tables: ['allocs'], scope }, async () => ({ index: 7, value })),
      );
    };
    for (const scope of [['default'], ['default', 'prod']])
      for (const query of [{}, { filter: 'x' }, { prefix: 'x' }])
        expect(await list(scope, query)).toEqual([200, { scope, query }]);
    expect(await list(['default'], { stale: '', index: '0', pretty: '0' })).toEqual([
      200,
      { scope: ['default'], query: {} },
    ]);
  });
});
