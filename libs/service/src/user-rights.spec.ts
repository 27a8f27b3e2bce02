import { type AclToken, FakeTime } from '@waybill/model';
import { LocalState, ReplicaBehindError } from '@waybill/replica';
import {
  type CallProtection,
  type CallUser,
  collectAllocs,
  CSI_NODE,
  detachVolume,
  EVERYBODY_CALLS,
  listFiles,
  pauseDeployment,
  readLog,
  renewLock,
  updateNodeDrain,
} from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { UserRights } from './user-rights.js';

function setup({ isAccessControlled = true } = {}) {
  const state = new LocalState(fixtures.aMachine());
  const { tables } = state;
  const time = new FakeTime();
  const rights = new UserRights({ state, clock: time, isAccessControlled });
  const user = (over: Partial<CallUser> & Pick<CallUser, 'Kind'>) => ({ AtIndex: 0, ...over }) as CallUser;
  return {
    state,
    time,
    rights,
    policy: (Name: string, Rules: string, over = {}) =>
      tables.acl_policy.replace(Name, fixtures.aPolicy({ Name, Rules, ...over })),
    token: (over: Partial<AclToken>): CallUser => {
      const token = fixtures.aToken(over);
      tables.acl_token.replace(token.AccessorID, token);
      return user({ Kind: 'token', AccessorID: token.AccessorID });
    },
    user,
    alloc: (over = {}) => {
      const alloc = fixtures.anAlloc({ Namespace: 'shop', ClientStatus: 'running', ...over });
      tables.allocs.replace(alloc.ID, alloc);
      return alloc;
    },
    may: (call: CallProtection, request: unknown, of: CallUser) =>
      rights.admit(call, request, { user: of }).then(
        () => true,
        (error: Error) => error.message,
      ),
  };
}

const DENIED = 'Permission denied';
const inShop = (...capabilities: string[]): string =>
  `namespace "shop" { capabilities = ${JSON.stringify(capabilities)} }`;

describe('the rights of users at the service that answers', () => {
  it('OP-172: a token may do what its policies and those of its roles allow, in that namespace', async () => {
    const { policy, token, alloc, may, state } = setup();
    policy('logs', inShop('read-logs'));
    policy('ops', inShop('alloc-lifecycle'));
    state.tables.acl_roles.replace('r', fixtures.aRole({ ID: 'r', Policies: [{ Name: 'logs' }] }));
    const [direct, byRole, other] = [
      token({ Policies: ['logs'] }),
      token({ Policies: null, Roles: [{ ID: 'r', Name: 'team' }] }),
      token({ Policies: ['ops', 'gone'] }),
    ];
    const leftOver = token({
      Policies: null,
      Roles: [
        { ID: 'gone', Name: 'gone' },
        { ID: 'r', Name: 'team' },
      ],
    });
    const [ours, theirs] = [{ AllocID: alloc().ID }, { AllocID: alloc({ Namespace: 'default' }).ID }];
    expect(await may(readLog, ours, direct)).toBe(true);
    expect(await may(readLog, ours, byRole)).toBe(true);
    expect(await may(readLog, ours, leftOver)).toBe(true); // a role that was deleted gives nothing
    expect(await may(readLog, ours, other)).toBe(DENIED);
    expect(await may(readLog, theirs, direct)).toBe(DENIED);
  });

  it('OP-172: a deleted or expired token may do nothing from that instant', async () => {
    const { policy, token, may, state, time, alloc } = setup();
    policy('logs', inShop('read-logs'));
    const request = { AllocID: alloc().ID };
    const ends = token({ Policies: ['logs'], ExpirationTime: new Date(time.nowMs() + 1_000).toISOString() });
    expect(await may(readLog, request, ends)).toBe(true);
    await time.pass(1_000);
    expect(await may(readLog, request, ends)).toBe(DENIED);
    const manager = token({ Type: 'management', Policies: null });
    expect(await may(readLog, request, manager)).toBe(true);
    if (manager.Kind === 'token') state.tables.acl_token.replace(manager.AccessorID, undefined);
    expect(await may(readLog, request, manager)).toBe(DENIED);
  });

  it('OP-172: without a token, the policy "anonymous" counts', async () => {
    const { policy, user, may, alloc } = setup();
    const request = { AllocID: alloc().ID };
    const anonymous = user({ Kind: 'anonymous' });
    expect(await may(readLog, request, anonymous)).toBe(DENIED);
    policy('anonymous', inShop('read-logs'));
    expect(await may(readLog, request, anonymous)).toBe(true);
  });

  it('OP-137, OP-138: a workload has the policies of its job, as long as its allocation lives', async () => {
    const { policy, user, may, alloc, state } = setup();
    const of = alloc();
    const JobACL = { Namespace: 'shop', JobID: of.Job?.ID ?? '', Group: '', Task: '' };
    policy('own', inShop('read-logs'), { JobACL });
    policy('others', inShop('alloc-lifecycle'), { JobACL: { ...JobACL, JobID: 'another' } });
    const task = user({ Kind: 'workload', AllocID: of.ID, Task: 'web' } as CallUser);
    expect(await may(readLog, { AllocID: of.ID }, task)).toBe(true);
    expect(await may(collectAllocs, { AllocID: of.ID }, task)).toBe(DENIED);
    const lock = { Namespace: 'shop', Path: `nomad/jobs/${of.Job?.ID}`, LockID: 'l', AtIndex: 1 };
    expect(await may(renewLock, lock, task)).toBe(DENIED); // it may read its own variables, not write them
    state.tables.allocs.replace(of.ID, { ...of, ClientStatus: 'complete' });
    expect(await may(readLog, { AllocID: of.ID }, task)).toBe(DENIED);
  });

  it('OP-172: rights that are about no namespace, about several, and about what is not there', async () => {
    const { policy, token, may } = setup();
    policy('nodes', 'node { policy = "write" }');
    policy('mounts', `${inShop('csi-mount-volume')} plugin { policy = "read" }`);
    policy('no-plugins', inShop('csi-mount-volume'));
    const nodes = token({ Policies: ['nodes'] });
    expect(await may(updateNodeDrain, { NodeID: 'n' }, nodes)).toBe(true);
    expect(await may(collectAllocs, { AllocID: '' }, nodes)).toBe(true);
    expect(await may(collectAllocs, { AllocID: '' }, token({ Policies: ['mounts'] }))).toBe(DENIED);
    expect(await may(detachVolume, { Namespace: 'shop' }, token({ Policies: ['mounts'] }))).toBe(true);
    expect(await may(detachVolume, { Namespace: 'shop' }, token({ Policies: ['no-plugins'] }))).toBe(DENIED);
    // The handler says that there is no such deployment.
    expect(await may(pauseDeployment, { DeploymentID: 'none' }, nodes)).toBe(true);
  });

  it('AG-224: a machine may read the disk of an allocation that one of its own replaces, and no other file', async () => {
    const { user, may, alloc } = setup();
    const before = alloc({ NodeID: 'old' });
    alloc({ NodeID: 'new', PreviousAllocation: before.ID });
    const machine = (NodeID: string) => user({ Kind: 'node', NodeID } as CallUser);
    expect(await may(listFiles, { AllocID: before.ID }, machine('new'))).toBe(true);
    expect(await may(listFiles, { AllocID: before.ID }, machine('other'))).toBe(DENIED);
    expect(await may(readLog, { AllocID: before.ID }, machine('new'))).toBe(DENIED);
  });

  it('OP-110: everybody may do everything only where access control is off', async () => {
    expect(await setup().may(updateNodeDrain, {}, EVERYBODY_CALLS)).toBe(DENIED);
    expect(await setup({ isAccessControlled: false }).may(updateNodeDrain, {}, EVERYBODY_CALLS)).toBe(true);
  });

  it('AU-253, AU-260: a call without an authority, and one with a fence instead of a user, are refused', async () => {
    const { rights } = setup({ isAccessControlled: false });
    await expect(rights.admit(updateNodeDrain, {}, undefined)).rejects.toThrow(DENIED);
    const fence = { Role: 'nodes', Epoch: 1, Holder: 'h' } as const;
    await expect(rights.admit(updateNodeDrain, {}, { fence })).rejects.toThrow(DENIED);
    await expect(rights.admit(CSI_NODE.detach.call, {}, { user: EVERYBODY_CALLS })).rejects.toThrow(DENIED);
  });

  it('OP-118: a copy of the state that is behind the caller waits, and says so if it stays behind', async () => {
    const { state, time } = setup();
    const waits: number[] = [];
    const behind = new UserRights({
      state: {
        tables: state.tables,
        appliedIndex: 5,
        waitFor: (index) => {
          waits.push(index);
          return Promise.reject(new ReplicaBehindError(index, 5));
        },
      },
      clock: time,
      isAccessControlled: true,
    });
    const of = (AtIndex: number) => ({ user: { Kind: 'anonymous', AtIndex } }) as const;
    await expect(behind.admit(updateNodeDrain, {}, of(9))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(behind.admit(updateNodeDrain, {}, of(5))).rejects.toMatchObject({ code: 'forbidden' });
    expect(waits).toEqual([9]);
  });
});
