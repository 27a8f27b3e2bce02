import type { HostVolume, HostVolumeSpecification, Node } from '@waybill/model';
import { NO_RESPONDER, RpcError, RpcUnavailableError } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it, vi } from 'vitest';
import { aRequest } from '../commands/operator-commands.fixture.js';
import { VolumesCluster } from '../releases/volumes-cluster.fixture.js';

const { aGroup, aJob, anAlloc, anEval, aPlanResult, aRegistration, aVolumeRequest, uuid } = fixtures;
const CREATE = 'agent.hostVolumeCreate';
const REGISTER = 'agent.hostVolumeRegister';
const DELETE = 'agent.hostVolumeDelete';
const MKDIR = { 'plugins.host_volume.mkdir.version': '0.0.1' };
const [A, B, C] = [uuid(0xa), uuid(0xb), uuid(0xc)];

function aSpecification(over: Partial<HostVolumeSpecification> = {}): HostVolumeSpecification {
  return {
    Namespace: 'default',
    ID: '',
    Name: 'data',
    PluginID: 'mkdir',
    NodePool: '',
    NodeID: '',
    Constraints: null,
    RequestedCapacityMinBytes: 0,
    RequestedCapacityMaxBytes: 0,
    CapacityBytes: 0,
    RequestedCapabilities: null,
    Parameters: null,
    HostPath: '',
    ...over,
  };
}

/** The role is held, and there are machines with the built-in plugin whose directories are made as asked. */
function cluster(...nodes: Partial<Node>[]) {
  const at = new VolumesCluster();
  for (const over of nodes.length > 0 ? nodes : [{ ID: A }])
    at.machine(over.ID ?? A, { over: { Attributes: MKDIR, ...over } });
  at.machines.answers.set(CREATE, ({ request }) => ({
    HostPath: `/volumes/${String(request['ID'])}`,
    CapacityBytes: 10,
  }));
  at.lead();
  const { hostVolumes } = at.term;
  const create = (over?: Partial<HostVolumeSpecification>) => hostVolumes.create(aSpecification(over), aRequest());
  const register = (over?: Partial<HostVolumeSpecification>) => hostVolumes.register(aSpecification(over), aRequest());
  const remove = (id: string, force = false) => hostVolumes.delete('default', id, force, aRequest());
  const stored = (id: string): HostVolume | undefined => at.state.tables.host_volumes.get(`default/${id}`);
  /** An allocation that uses the volume of this name. */
  const use = (ID: string, NodeID: string) => {
    const group = aGroup({ Volumes: { data: aVolumeRequest({ Type: 'host', Source: 'data' }) } });
    const Job = aJob({ ID: 'web', TaskGroups: [group] });
    at.write('JobRegister', aRegistration(Job, { Eval: anEval({ ID: 'placing' }) }));
    at.write(
      'ApplyPlanResults',
      aPlanResult({ Job, EvalID: 'placing', AllocsUpdated: [anAlloc({ ID, NodeID, Job })] }),
    );
  };
  const asked = (): string[] => at.machines.asked.map(({ name, nodeId }) => `${name.replace('agent.', '')} ${nodeId}`);
  return { at, create, register, remove, stored, use, asked };
}

/** What it is refused with. */
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

describe('the end of the term', () => {
  it('VL-303: what waits behind other work on a volume asks no machine any more', async () => {
    const { at, create, remove, asked } = cluster();
    const { ID } = await create();
    let done: (answer: object) => void = () => {};
    at.machines.answers.set(CREATE, () => new Promise((resolve) => (done = resolve)));
    const waiting = Promise.allSettled([create({ ID, NodeID: A }), create({ ID, NodeID: A }), remove(ID)]);
    await expect.poll(asked).toHaveLength(2);
    at.follow();
    done({ HostPath: `/volumes/${ID}`, CapacityBytes: 10 });
    const outcomes = (await waiting).map((one) => (one.status === 'rejected' ? String(one.reason) : one.status));
    expect(outcomes).toEqual(Array(3).fill('NotHolderError: No cluster leader'));
    expect(asked()).toHaveLength(2);
  });

  it('VL-303: one that stood still for longer than its lease asks no machine when it wakes', async () => {
    const { at, create, remove, asked } = cluster();
    const { ID } = await create();
    at.oversleep();
    expect(await refusal(create({ ID, NodeID: A }))).toBe('No cluster leader');
    expect(await refusal(remove(ID))).toBe('No cluster leader');
    expect(asked()).toHaveLength(1);
  });
});

describe('creating a host volume', () => {
  it('VL-283, VL-285, VL-289: without an ID it is a new one, recorded as pending, made, and stored as it was made', async () => {
    const { at, create, stored } = cluster();
    const seen: (HostVolume | undefined)[] = [];
    const answer = at.machines.answers.get(CREATE);
    at.machines.answers.set(CREATE, (asked) => {
      seen.push(stored(String(asked.request['ID'])));
      return answer?.(asked);
    });
    const { ID, Index } = await create({ HostPath: '/elsewhere', CapacityBytes: 99 });
    expect(seen).toMatchObject([{ State: 'pending', HostPath: '', CapacityBytes: 0 }]);
    expect(stored(ID)).toMatchObject({
      NodeID: A,
      NodePool: 'default',
      PluginID: 'mkdir',
      State: 'pending',
      HostPath: `/volumes/${ID}`,
      CapacityBytes: 10,
      RequestedCapabilities: [{ AttachmentMode: 'file-system', AccessMode: 'single-node-writer' }],
      ModifyIndex: Index,
    });
    expect((await create({ Name: 'other' })).ID).not.toBe(ID);
  });

  it('ST-6: a request that comes twice makes one volume, and nothing that the log does not know of', async () => {
    const { at, stored, asked } = cluster({ ID: A }, { ID: B });
    const by = aRequest();
    const { hostVolumes } = at.term;
    const { ID } = await hostVolumes.create(aSpecification(), by);
    expect(await refusal(hostVolumes.create(aSpecification(), by))).toContain('carried out before');
    expect([stored(ID)?.NodeID, asked()]).toEqual([A, [`hostVolumeCreate ${A}`]]);
  });

  it('VL-288: several of one name at once each get a machine of their own, however long the log takes', async () => {
    const { at, create, stored } = cluster({ ID: A }, { ID: B }, { ID: C });
    const propose = at.state.propose.bind(at.state);
    const slowly: typeof propose = (...given) => new Promise((done) => setImmediate(() => done(propose(...given))));
    vi.spyOn(at.state, 'propose').mockImplementation(slowly);
    const made = await Promise.all([create(), create(), create()]);
    expect(made.map(({ ID }) => stored(ID)?.NodeID)).toEqual([A, B, C]);
    expect(await refusal(create())).toContain('3 nodes had existing volume');
  });

  it('VL-285: without a plugin it is that of a name nobody has', async () => {
    const { create } = cluster();
    expect(await refusal(create({ PluginID: '' }))).toContain('1 nodes were infeasible');
    const withDefault = cluster({ ID: A, Attributes: { 'plugins.host_volume.default.version': '1' } });
    const { ID } = await withDefault.create({ PluginID: '' });
    expect(withDefault.stored(ID)?.PluginID).toBe('default');
  });

  it('VL-285: an update keeps where it is and what was made, and takes capabilities and parameters as sent', async () => {
    const { at, create, stored } = cluster();
    const Constraints = [{ LTarget: '${node.unique.id}', RTarget: A, Operand: '=' }];
    const { ID } = await create({ Constraints, Parameters: { mode: '0770' } });
    const before = stored(ID);
    at.machines.answers.set(CREATE, () => ({ HostPath: '/moved', CapacityBytes: 20 }));
    await create({ ID, PluginID: '', Constraints: null, HostPath: '/sent', CapacityBytes: 1 });
    expect(at.machines.asked.at(-1)?.request).toMatchObject({ HostPath: `/volumes/${ID}`, PluginID: 'mkdir' });
    expect(stored(ID)).toMatchObject({
      NodeID: A,
      NodePool: 'default',
      Constraints,
      PluginID: 'mkdir',
      HostPath: '/moved',
      CapacityBytes: 20,
      RequestedCapabilities: null,
      Parameters: null,
      CreateTime: before?.CreateTime,
      CreateIndex: before?.CreateIndex,
    });
  });

  it('VL-290: what its machine refuses leaves nothing behind', async () => {
    const { at, create } = cluster();
    at.machines.refusing(CREATE, 'volume name already exists on this node');
    expect(await refusal(create())).toBe('HostVolume.Create error: volume name already exists on this node');
    expect(at.state.tables.host_volumes.size).toBe(0);
    at.machines.unreachable(CREATE);
    expect(await refusal(create())).toBe('HostVolume.Create error: No path to node');
    expect(at.state.tables.host_volumes.size).toBe(0);
  });

  it('VL-289: of which nobody knows whether it was made stays, to be created again by its ID', async () => {
    const { at, create, stored } = cluster();
    at.machines.answers.set(CREATE, () => {
      throw new RpcUnavailableError(CREATE, 'no answer');
    });
    const error = await refusal(create());
    const [left] = [...at.state.tables.host_volumes.all()];
    expect(error).toContain(`volume "${left?.ID}" stays pending: HostVolume.Create error: `);
    at.machines.answers.set(CREATE, () => ({ HostPath: '/made', CapacityBytes: 0 }));
    await create({ ID: left?.ID ?? '' });
    expect(stored(left?.ID ?? '')).toMatchObject({ HostPath: '/made', NodeID: A });
  });

  it('VL-290: one operation at a time for each volume', async () => {
    const { at, create, remove } = cluster();
    const { ID } = await create();
    let finish = (): void => {};
    at.machines.answers.set(CREATE, () => new Promise((resolve) => (finish = () => resolve({}))));
    const [updating, deleting] = [create({ ID }), remove(ID)];
    await new Promise((resolve) => setImmediate(resolve));
    expect(at.machines.asked.some(({ name }) => name === DELETE)).toBe(false);
    finish();
    await Promise.all([updating, deleting]);
    expect(at.machines.asked.at(-1)?.name).toBe(DELETE);
  });
});

describe('what is wrong with a host volume', () => {
  it.each<[string, Partial<HostVolumeSpecification>]>([
    ['invalid ID "x"', { ID: 'x' }],
    ['missing name', { Name: '' }],
    ['capacity_max (0) must be larger than capacity_min (5)', { RequestedCapacityMinBytes: 5 }],
    ['invalid attachment mode: "x"', { RequestedCapabilities: [{ AttachmentMode: 'x', AccessMode: 'y' }] }],
    [
      'invalid access mode: "multi-node-multi-writer"',
      { RequestedCapabilities: [{ AttachmentMode: 'file-system', AccessMode: 'multi-node-multi-writer' }] },
    ],
    [
      'invalid constraint: 1 error occurred:\n\t* Unknown constraint type "like"\n\n',
      { Constraints: [{ LTarget: '${node.class}', RTarget: 'x', Operand: 'like' }] },
    ],
    [
      'invalid constraint distinct_hosts: host volumes of the same name are always on distinct hosts',
      { Constraints: [{ LTarget: '', RTarget: '', Operand: 'distinct_hosts' }] },
    ],
    ['no such namespace "gone"', { Namespace: 'gone' }],
    ['2 errors occurred:\n\t* invalid ID "x"\n\t* missing name\n\n', { ID: 'x', Name: '', Namespace: 'gone' }],
  ])('VL-284: %j', async (text, over) => {
    const { create, register, asked } = cluster();
    expect(await refusal(create(over))).toBe(`volume validation failed: ${text}`);
    expect(await refusal(register(over))).toBe(`volume validation failed: ${text}`);
    expect(asked()).toEqual([]);
  });

  it('VL-283: an update of what is not there', async () => {
    const { create } = cluster();
    const error = `cannot update volume "${uuid(1)}": volume does not exist`;
    expect(await refusal(create({ ID: uuid(1) }))).toBe(error);
  });

  it('VL-286: what an update may not change, all at once', async () => {
    const { at, create, use } = cluster({ ID: A }, { ID: B, NodePool: 'gpu' });
    at.write('NodePoolUpsert', { NodePools: [fixtures.aNodePool({ Name: 'gpu' })] });
    const { ID } = await create();
    use(uuid(5), A);
    const all = { ID, NodeID: B, NodePool: 'gpu', RequestedCapacityMaxBytes: 9 };
    expect(await refusal(create(all))).toBe(
      `validating volume "${ID}" update failed: 4 errors occurred:\n\t* cannot update a volume in use: claimed by allocs (${uuid(5)})\n\t* node ID cannot be updated\n\t* node pool cannot be updated\n\t* capacity_max (9) cannot be less than existing provisioned capacity (10)\n\n`,
    );
    at.status(uuid(5), 'complete');
    expect(await refusal(create({ ID, NodeID: A, NodePool: 'default', RequestedCapacityMaxBytes: 10 }))).toBe(
      'accepted',
    );
  });

  it.each<[string, Partial<HostVolumeSpecification>]>([
    [`node "${C}" does not exist`, { NodeID: C }],
    ['node pool "gone" does not exist', { NodeID: A, NodePool: 'gone' }],
    [`node ID "${A}" is not in pool "all"`, { NodeID: A, NodePool: 'all' }],
  ])('VL-287: %s', async (text, over) => {
    const { create, register } = cluster();
    expect(await refusal(create(over))).toBe(`validating volume "data" against state failed: ${text}`);
    expect(await refusal(register({ ...over, HostPath: '/srv' }))).toMatch(
      /^validating volume ".+" against state failed: /,
    );
    expect(await refusal(register({ ...over, HostPath: '/srv' }))).toContain(text);
  });
});

describe('placement of a host volume', () => {
  it('VL-288: the first node of the pool that is ready, has the plugin and meets the constraints', async () => {
    const { create, stored } = cluster(
      { ID: uuid(1), Attributes: {} },
      { ID: uuid(2), Meta: { rack: 'r2' }, Status: 'down' },
      { ID: uuid(3), Meta: { rack: 'r1' } },
      { ID: uuid(4), Meta: { rack: 'r2' }, SchedulingEligibility: 'ineligible' },
      { ID: uuid(5), Meta: { rack: 'r2' } },
    );
    const Constraints = [{ LTarget: '${meta.rack}', RTarget: 'r2', Operand: '=' }];
    expect(stored((await create({ Constraints })).ID)?.NodeID).toBe(uuid(4));
    expect(stored((await create({ Constraints })).ID)?.NodeID).toBe(uuid(5));
    expect(await refusal(create({ Constraints }))).toBe(
      'could not place volume "data": no node meets constraints: 2 nodes had existing volume, 0 nodes filtered by node pool governance, 3 nodes were infeasible',
    );
  });

  it('VL-288: a name that a node reports is taken there, whoever it belongs to', async () => {
    const { create } = cluster({ ID: A, HostVolumes: { data: { Name: 'data', Path: '/d', ReadOnly: false, ID: '' } } });
    expect(await refusal(create())).toContain('1 nodes had existing volume');
  });

  it('VL-288: a node that is named has to be able to make it; the volume takes its pool', async () => {
    const { at, create, stored } = cluster({ ID: A }, { ID: B, Attributes: {} }, { ID: C, NodePool: 'gpu' });
    at.write('NodePoolUpsert', { NodePools: [fixtures.aNodePool({ Name: 'gpu' })] });
    expect(await refusal(create({ NodeID: B }))).toBe(
      `could not place volume "data": node ${B} is not feasible for volume`,
    );
    const Constraints = [{ LTarget: '${node.unique.id}', RTarget: B, Operand: '=' }];
    expect(await refusal(create({ NodeID: A, Constraints }))).toContain(`node ${A} is not feasible for volume`);
    expect(stored((await create({ NodePool: 'gpu' })).ID)).toMatchObject({ NodeID: C, NodePool: 'gpu' });
    expect(stored((await create({ NodeID: C, Name: 'other' })).ID)).toMatchObject({ NodeID: C, NodePool: 'gpu' });
  });
});

describe('registering a host volume', () => {
  it('VL-291: its node and its path are required, and its node looks at the path', async () => {
    const { register, stored, asked } = cluster();
    expect(await refusal(register({ HostPath: '/srv' }))).toBe('cannot register volume: node ID is required');
    expect(await refusal(register({ NodeID: A }))).toBe('cannot register volume: host path is required');
    const { ID } = await register({ NodeID: A, HostPath: '/srv', PluginID: '', CapacityBytes: 7 });
    expect(stored(ID)).toMatchObject({ NodeID: A, HostPath: '/srv', PluginID: '', CapacityBytes: 7, State: 'pending' });
    expect(asked()).toEqual([`hostVolumeRegister ${A}`]);
  });

  it('VL-291: a path that is not there is no volume', async () => {
    const { at, register } = cluster();
    at.machines.refusing(REGISTER, 'no such path');
    expect(await refusal(register({ NodeID: A, HostPath: '/srv' }))).toBe('HostVolume.Register error: no such path');
    expect(at.state.tables.host_volumes.size).toBe(0);
  });

  it('VL-285: registered anew it has the path and size that are sent', async () => {
    const { register, stored } = cluster();
    const { ID } = await register({ NodeID: A, HostPath: '/srv', CapacityBytes: 7 });
    await register({ ID, HostPath: '/mnt', CapacityBytes: 8 });
    expect(stored(ID)).toMatchObject({ NodeID: A, HostPath: '/mnt', CapacityBytes: 8 });
  });
});

describe('deleting a host volume', () => {
  it('VL-292: one in use is refused before its machine is asked', async () => {
    const { at, create, remove, use, asked, stored } = cluster();
    expect(await refusal(remove(uuid(1)))).toBe(`no such volume: ${uuid(1)}`);
    const { ID } = await create();
    use(uuid(5), A);
    const before = asked().length;
    expect(await refusal(remove(ID, true))).toBe(`volume ${ID} in use by allocations: [${uuid(5)}]`);
    expect(asked()).toHaveLength(before);
    at.status(uuid(5), 'failed');
    expect(await refusal(remove(ID))).toBe('accepted');
    expect([stored(ID), asked().at(-1)]).toEqual([undefined, `hostVolumeDelete ${A}`]);
  });

  it('VL-292: of a machine that is gone or cut off only by force', async () => {
    const { at, create, remove, stored } = cluster();
    const error = 'volume cannot be removed from unknown node without force=true';
    const first = await create({ Name: 'first' });
    const second = await create({ Name: 'second' });
    at.machines.answers.set(DELETE, () => {
      throw new RpcUnavailableError(DELETE, NO_RESPONDER);
    });
    expect(await refusal(remove(first.ID))).toBe(error);
    expect(await refusal(remove(first.ID, true))).toBe('accepted');
    at.write('NodeDeregister', { NodeID: A });
    expect(await refusal(remove(second.ID))).toBe(error);
    expect(await refusal(remove(second.ID, true))).toBe('accepted');
    expect(stored(first.ID) ?? stored(second.ID)).toBeUndefined();
  });

  it('VL-290, VL-292: what its machine refuses stays, also by force', async () => {
    const { at, create, remove, stored } = cluster();
    const { ID } = await create();
    at.machines.answers.set(DELETE, () => {
      throw new RpcError('internal', 'plugin is down');
    });
    expect(await refusal(remove(ID, true))).toBe('HostVolume.Delete error: plugin is down');
    expect(stored(ID)).toBeDefined();
  });
});
