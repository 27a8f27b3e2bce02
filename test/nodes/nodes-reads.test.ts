import { connect, type NatsLink } from '@waybill/journal';
import type { Node } from '@waybill/model';
import { heartbeat, NatsRpc, registerNode } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Four machines that never speak after their first heartbeat; their heartbeats are not missed within the test. */
const idOf = (number: number) => `${number}a000000-0000-4000-8000-000000000000`;
const STRANGER = 'ffffffff-0000-4000-8000-000000000000';
const WAIT = 'wait=20s';

type NodeAnswer = Node & { Drain: boolean };

let waybill: WaybillProcesses;
let link: NatsLink;
let rpc: NatsRpc;
let nodes: Node[];

const read = async <T>(
  path: string,
): Promise<{ status: number; value: T; text: string; index: number; token: string | null }> => {
  const answer = await waybill.api.raw(path);
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  const index = Number(answer.headers.get('X-Nomad-Index'));
  return {
    status: answer.status,
    value: (isJson ? JSON.parse(text) : undefined) as T,
    text,
    index,
    token: answer.headers.get('X-Nomad-NextToken'),
  };
};
const list = (query = '') => read<NodeAnswer[]>(`/v1/nodes${query}`);
const filtered = (expression: string) => `filter=${encodeURIComponent(expression)}`;
const ids = (answer: { value: NodeAnswer[] }) => answer.value.map(({ ID }) => ID);
const put = async (path: string, body: object) => {
  const answer = await waybill.api.raw(path, { method: 'PUT', body: JSON.stringify(body) });
  return {
    index: Number(answer.headers.get('X-Nomad-Index')),
    value: (await answer.json()) as { Index: number; NodeModifyIndex: number },
  };
};
const drain = (id: string, DrainSpec: object | null) => put(`/v1/node/${id}/drain`, { NodeID: STRANGER, DrainSpec });
/** The role may change hands on a busy machine, and then nobody answers for a moment. */
const beat = ({ ID, SecretID }: Node) =>
  eventually('a holder answers', () =>
    rpc.ask(heartbeat, { NodeID: ID, SecretID, Status: 'ready' }).catch(() => undefined),
  );

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'nodes', 'api']);
  link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  rpc = new NatsRpc(link.nc);
});
afterAll(async () => {
  await link?.close();
  await waybill?.stop();
});

describe('nodes as they are read', () => {
  it('ND-1: none is an empty list; several are ordered by their ID', async () => {
    expect((await list()).text).toBe('[]');
    nodes = [3, 1, 2, 4].map((n) =>
      fixtures.aNode({
        ID: idOf(n),
        Status: 'initializing',
        Datacenter: n > 2 ? 'dc3' : 'dc1',
        NodeClass: n === 1 ? 'big' : '',
        Meta: { rack: `r${n % 2}` },
      }),
    );
    for (const node of nodes) await rpc.ask(registerNode, { Node: node });
    let { index } = await list();
    for (const node of nodes) index = Math.max(index, (await beat(node)).Index);
    expect(ids(await list(`?index=${index - 1}&${WAIT}`))).toEqual([1, 2, 3, 4].map(idOf));
  });

  it('ND-5: a prefix of the ID selects', async () => {
    expect(ids(await list('?prefix=2a'))).toEqual([idOf(2)]);
    expect(ids(await list('?prefix=99'))).toEqual([]);
  });

  it('ND-6: a filter is over the whole node, also what a list does not show; a malformed one is refused', async () => {
    for (const [expression, found] of [
      ['Datacenter == "dc3"', [3, 4]],
      ['Meta["rack"] == "r1"', [1, 3]],
      ['Status != "ready"', []],
      ['Attributes["kernel.name"] == "linux"', [1, 2, 3, 4]],
      ['NodeClass == "big"', [1]],
    ] as const)
      expect([expression, ids(await list(`?${filtered(expression)}`))]).toEqual([expression, found.map(idOf)]);
    expect((await list(`?${filtered('Datacenter ==')}`)).status).toBe(400);
  });

  it('ND-7 ND-8: pages, of what matches; the token is the first of the next page, the last page has none', async () => {
    const first = await list('?per_page=3');
    expect([ids(first), first.token]).toEqual([[1, 2, 3].map(idOf), idOf(4)]);
    const last = await list(`?per_page=3&next_token=${first.token}`);
    expect([ids(last), last.token]).toEqual([[idOf(4)], null]);
    const odd = filtered('Meta["rack"] == "r1"');
    const page = await list(`?per_page=1&${odd}`);
    expect([ids(page), page.token]).toEqual([[idOf(1)], idOf(3)]);
    const rest = await list(`?per_page=1&${odd}&next_token=${page.token}`);
    expect([ids(rest), rest.token]).toEqual([[idOf(3)], null]);
  });

  it('API-200, ND-10: one node by its full ID, without its secret, with the computed Drain', async () => {
    const { value } = await read<NodeAnswer>(`/v1/node/${idOf(1)}`);
    expect(value).toMatchObject({ ID: idOf(1), SecretID: '', Drain: false, Meta: { rack: 'r1' } });
    const unknown = await read(`/v1/node/${STRANGER}`);
    expect([unknown.status, unknown.text]).toEqual([404, 'node not found']);
  });

  it('ND-12 ND-13: allocations of a known and of an unknown node: none is a list, with an index', async () => {
    for (const id of [idOf(1), STRANGER]) {
      const { text, index } = await read(`/v1/node/${id}/allocations`);
      expect(text).toBe('[]');
      expect(index).toBeGreaterThanOrEqual(1);
    }
  });
});

describe('nodes as they are waited for', () => {
  it('ND-9 ND-228: a list wakes on any write to any node, whatever its filter, with a newer index', async () => {
    const only = filtered('NodeClass == "big"');
    const before = await list(`?${only}`);
    const waiting = list(`?${only}&index=${before.index}&${WAIT}`);
    const { value } = await put(`/v1/node/${idOf(2)}/eligibility`, { Eligibility: 'ineligible' });
    const after = await waiting;
    expect([ids(after), after.index]).toEqual([[idOf(1)], value.Index]);
  });

  it('ND-11, ST-154: one node is woken by its own writes and by its end, not by those of others', async () => {
    const own = (await read<NodeAnswer>(`/v1/node/${idOf(3)}`)).index;
    expect(own).toBe((await read<NodeAnswer>(`/v1/node/${idOf(3)}`)).value.ModifyIndex);
    const waiting = read<NodeAnswer>(`/v1/node/${idOf(3)}?index=${own}&${WAIT}`);
    await put(`/v1/node/${idOf(2)}/eligibility`, { Eligibility: 'eligible' });
    const { value } = await put(`/v1/node/${idOf(3)}/eligibility`, { Eligibility: 'ineligible' });
    const woken = await waiting;
    expect([woken.index, woken.value.SchedulingEligibility]).toEqual([value.Index, 'ineligible']);
    const end = read(`/v1/node/${idOf(3)}?index=${woken.index}&${WAIT}`);
    await waybill.api.raw(`/v1/node/${idOf(3)}/purge`, { method: 'PUT' });
    expect((await end).status).toBe(404);
  });
});

describe('nodes as they are written', () => {
  it('API-201, ND-15 ND-18: the node to drain is that of the path; the answer says its index twice', async () => {
    const { index, value } = await drain(idOf(1), { Deadline: 3_600e9, IgnoreSystemJobs: true });
    expect(index).toBe(value.Index);
    expect((await read<NodeAnswer>(`/v1/node/${idOf(1)}`)).value.SchedulingEligibility).toBe('ineligible');
  });

  it('ND-16: the node of an eligibility is that of the body; an empty one falls back to the path', async () => {
    const eligibility = async (n: number) =>
      (await read<NodeAnswer>(`/v1/node/${idOf(n)}`)).value.SchedulingEligibility;
    await put(`/v1/node/${idOf(1)}/eligibility`, { NodeID: idOf(2), Eligibility: 'ineligible' });
    expect([await eligibility(1), await eligibility(2)]).toEqual(['ineligible', 'ineligible']);
    await put(`/v1/node/${idOf(2)}/eligibility`, { NodeID: '', Eligibility: 'eligible' });
    expect(await eligibility(2)).toBe('eligible');
  });

  it('ND-25: purged, a node is gone from lists and reads', async () => {
    await waybill.api.raw(`/v1/node/${idOf(2)}/purge`, { method: 'PUT' });
    expect(ids(await list())).toEqual([1, 4].map(idOf));
    expect((await read(`/v1/node/${idOf(2)}`)).status).toBe(404);
  });
});
