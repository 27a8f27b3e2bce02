import { type Allocation, Refusal } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { type AskOptions, type Call, type Rpc, RpcUnavailableError } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { PreviousDisks } from './previous-disks.js';

function setup(disk = { Sticky: true, Migrate: true }, before: Partial<Allocation> = {}) {
  const state = new LocalState(fixtures.aMachine());
  const [node, other] = [fixtures.aNode(), fixtures.aNode()];
  for (const Node of [node, other]) fixtures.apply(state.machine, 'NodeRegister', { Node, CreateNodePool: false });
  const group = fixtures.aGroup({ EphemeralDisk: { ...disk, SizeMB: 10 } });
  const Job = fixtures.aJob({ TaskGroups: [group] });
  const ofGroup = { Job, JobID: Job.ID, TaskGroup: group.Name };
  const previous = fixtures.anAlloc({ ...ofGroup, NodeID: other.ID, ClientStatus: 'complete', ...before });
  const alloc = fixtures.anAlloc({ ...ofGroup, NodeID: node.ID, PreviousAllocation: previous.ID });
  for (const row of [previous, alloc]) state.tables.allocs.replace(row.ID, row);
  const asked: unknown[] = [];
  const authorities: unknown[] = [];
  let failure: Error | undefined;
  const rpc: Rpc = {
    ask: <Req, Res>(call: Call<Req, Res>, request: Req, options?: AskOptions): Promise<Res> => {
      asked.push([call.name, options?.target, request]);
      authorities.push(options?.authority);
      return failure ? Promise.reject(failure) : Promise.resolve('answer' as Res);
    },
  };
  const disks = new PreviousDisks(state, rpc);
  const own = { NodeID: node.ID, SecretID: node.SecretID, AllocID: alloc.ID };
  return {
    state,
    node,
    other,
    previous,
    asked,
    authorities,
    disks,
    own,
    list: (Path: string, over = {}) => disks.list({ ...own, Path, After: 'a', ...over }),
    fail: (error: Error) => (failure = error),
  };
}

const code = async (answer: Promise<unknown> | (() => Promise<unknown>)): Promise<string> => {
  try {
    await (typeof answer === 'function' ? answer() : answer);
    return 'answered';
  } catch (error) {
    return error instanceof Refusal ? error.code : String(error);
  }
};

describe('the disk of the allocation before, on another machine', () => {
  it('AG-224: a replica that does not know the allocation yet says so; its disk is not gone', async () => {
    const { state, disks, own, asked } = setup();
    const unknown = { ...own, AllocID: 'placed later', Path: '/alloc/data', After: '', MinStateIndex: 1_000 };
    await expect(code(() => disks.list(unknown))).resolves.toBe('conflict');
    for (const MinStateIndex of [1, state.appliedIndex])
      await expect(code(() => disks.list({ ...unknown, MinStateIndex }))).resolves.toBe('not-found');
    await expect(
      code(() => disks.readFile({ ...own, Path: '/alloc/data/x', Offset: 0, MinStateIndex: 1 })),
    ).resolves.toBe('answered');
    expect(asked).toHaveLength(1);
  });

  it('AG-224: is read from the machine where that has ended', async () => {
    const { disks, own, other, previous, asked, authorities } = setup();
    await disks.list({ ...own, Path: '/alloc/data/sub', After: 'a' });
    await disks.readFile({ ...own, Path: '/web/local/x', Offset: 7 });
    const file = { AllocID: previous.ID, IfEnded: true };
    expect(asked).toEqual([
      ['agent.listFiles', other.ID, { ...file, Path: '/alloc/data/sub', After: 'a' }],
      [
        'agent.readFile',
        other.ID,
        { ...file, Path: '/web/local/x', Offset: 7, Origin: 'start', Limit: 262_144, WaitMs: 0 },
      ],
    ]);
    const user = { Kind: 'node', NodeID: own.NodeID, AtIndex: expect.any(Number) as number };
    expect(authorities).toEqual([{ user }, { user }]);
  });

  it.each([
    '/alloc/logs/web.stdout.0',
    '/alloc',
    '/web/secrets/key',
    '/web/private/x',
    'alloc/data',
    '/alloc/data/../logs',
    '/alloc/data//x',
    '/alloc/data/./x',
    '/./local/secrets/key',
    'x/alloc/data',
    '/alloc/local/x',
    '/web/data/x',
    '/../local/x',
    '//local/x',
    '/',
    '',
  ])('AG-224: nothing else of it may be read: %j', async (Path) => {
    const { list, asked } = setup();
    expect(await code(() => list(Path))).toBe('forbidden');
    expect(asked).toEqual([]);
  });

  it('AG-224: only the machine of the next allocation may read it', async () => {
    const { list, node, other, previous } = setup();
    expect(await code(() => list('/alloc/data', { SecretID: other.SecretID }))).toBe('forbidden');
    expect(await code(() => list('/alloc/data', { NodeID: other.ID, SecretID: other.SecretID }))).toBe('forbidden');
    expect(await code(() => list('/alloc/data', { AllocID: previous.ID }))).toBe('forbidden');
    expect(await code(() => list('/alloc/data', { AllocID: 'none' }))).toBe('not-found');
    expect(await code(() => list('/alloc/data', { NodeID: node.ID }))).toBe('answered');
  });

  it.each([
    ['sticky only', { Sticky: true, Migrate: false }, {}, 'forbidden'],
    ['not sticky', { Sticky: false, Migrate: true }, {}, 'forbidden'],
    ['one that still runs', undefined, { ClientStatus: 'running' }, 'conflict'],
    ['one that nobody hears of (AG-53)', undefined, { ClientStatus: 'unknown' }, 'unavailable'],
    ['one of another job', undefined, { JobID: 'another' }, 'not-found'],
    ['one of another namespace', undefined, { Namespace: 'another' }, 'not-found'],
    ['one of another group', undefined, { TaskGroup: 'another' }, 'not-found'],
    ['one that is lost, whose tasks may still run', undefined, { ClientStatus: 'lost' }, 'unavailable'],
  ] as const)('AG-224: %s', async (_what, disk, before, expected) => {
    const { list } = setup(disk, before);
    expect(await code(() => list('/alloc/data'))).toBe(expected);
  });

  it('a machine that does not answer is told apart from servers that do not', async () => {
    const { list, fail } = setup();
    fail(new RpcUnavailableError('agent.listFiles', 'no responder'));
    expect(await code(() => list('/alloc/data'))).toBe('unavailable');
    fail(new Refusal('not-found', 'gone'));
    expect(await code(() => list('/alloc/data'))).toBe('not-found');
  });
});
