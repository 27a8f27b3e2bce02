import { Refusal } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { type CallProtection, type CallUser, readLog, restartAlloc, type UserMayRequest } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { roleTermsOf } from './role-terms.js';
import { UserRightsQueries } from './user-rights-queries.js';

const User: CallUser = { Kind: 'anonymous', AtIndex: 0 };

function setup() {
  const state = new LocalState(fixtures.aMachine());
  const [node, other] = [fixtures.aNode(), fixtures.aNode()];
  for (const Node of [node, other]) fixtures.apply(state.machine, 'NodeRegister', { Node, CreateNodePool: false });
  const [ours, theirs] = [fixtures.anAlloc({ NodeID: node.ID }), fixtures.anAlloc({ NodeID: other.ID })];
  for (const row of [ours, theirs]) state.tables.allocs.replace(row.ID, row);
  const asked: unknown[] = [];
  let refusal: Refusal | undefined;
  const queries = new UserRightsQueries(state, {
    admitUser: async (call: CallProtection, request: unknown, user: CallUser) => {
      asked.push([call.name, request, user]);
      if (refusal) throw refusal;
    },
  });
  const own = { NodeID: node.ID, SecretID: node.SecretID, User, MinStateIndex: 0 };
  return {
    ours,
    theirs,
    asked,
    refuse: (error: Refusal) => (refusal = error),
    userMay: (over: Partial<UserMayRequest>) =>
      queries.userMay({ ...own, Call: readLog.name, AllocID: ours.ID, ...over }),
  };
}

describe('what users may do on a machine, as it asks', () => {
  it('OP-172: the right is looked up for the call and the allocation', async () => {
    const { userMay, ours, asked, refuse } = setup();
    expect(await userMay({ Call: restartAlloc.name })).toEqual({ Allowed: true });
    expect(asked).toEqual([['agent.restartAlloc', { AllocID: ours.ID }, User]]);
    refuse(new Refusal('forbidden', 'Permission denied'));
    expect(await userMay({})).toEqual({ Allowed: false });
    refuse(new Refusal('unavailable', 'behind'));
    await expect(userMay({})).rejects.toThrow('behind');
  });

  it('ND-39: a machine learns only about its own allocations and about calls to machines', async () => {
    const { userMay, theirs, asked } = setup();
    await expect(userMay({ SecretID: 'guessed' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(userMay({ Call: 'nodes.purge' })).rejects.toMatchObject({ code: 'forbidden' });
    expect(await userMay({ AllocID: theirs.ID })).toEqual({ Allowed: false });
    expect(await userMay({ AllocID: 'collected' })).toEqual({ Allowed: false });
    expect(asked).toEqual([]);
  });
});

describe('the holders of roles, as machines are told', () => {
  it('AU-256: the holder of "volumes" with its epoch, and the history to which the epoch belongs', () => {
    const machine = fixtures.aMachine();
    const ClusterID = machine.tables.cluster_meta.get('singleton')?.ClusterID ?? '';
    expect(roleTermsOf(machine.tables)).toEqual({ ClusterID, RestoredIndex: 0, Holders: {} });
    for (const Role of ['nodes', 'volumes', 'broker'] as const)
      fixtures.apply(machine, 'LeaseAcquired', { Role, Epoch: 1, Holder: `${Role}-1` });
    expect(roleTermsOf(machine.tables).Holders).toEqual({ volumes: { Epoch: 1, Holder: 'volumes-1' } });
  });
});
