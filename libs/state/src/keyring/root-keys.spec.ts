import type { RootKey } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';
import { activeRootKey, isRootKeyInUse, signingKeyOf } from './root-keys.js';

const { aMachine, anAlloc, aNode, aPlanResult, aRegisteredJob, aRootKey, apply, uuid } = fixtures;

const [A, B, C] = [uuid(0xa), uuid(0xb), uuid(0xc)];

const put = (machine: StateMachine, key: Partial<RootKey>, Rekey = false, MustExist = false) =>
  apply(machine, 'RootKeyUpsert', { Key: aRootKey(key), Rekey, MustExist });
const remove = (machine: StateMachine, KeyID: string, Force = false) =>
  apply(machine, 'RootKeyDelete', { KeyID, Force });
const states = ({ tables }: StateMachine) =>
  Object.fromEntries([...tables.root_keys.all()].map(({ KeyID, State }) => [KeyID, State]));

const withKey = (): StateMachine => {
  const machine = aMachine();
  put(machine, { KeyID: A });
  return machine;
};

/** A job with one allocation on a node, placed now. */
function placed(machine: StateMachine) {
  const { job, evaluation } = aRegisteredJob(machine);
  const node = aNode();
  apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  const alloc = anAlloc({ Job: job, NodeID: node.ID });
  const plan = (AllocsUpdated: (typeof alloc)[]) =>
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated, EvalID: evaluation.ID }));
  plan([alloc]);
  const stored = () => machine.tables.allocs.get(alloc.ID)!;
  return { node, alloc, plan, stored };
}

describe('root keys', () => {
  it('OP-210, OP-212: exactly one key is active, and a rotation makes the one before inactive in the same transaction', () => {
    const machine = withKey();
    const { changes, index } = put(machine, { KeyID: B });
    expect(states(machine)).toEqual({ [A]: 'inactive', [B]: 'active' });
    expect(changes.map(({ table }) => table)).toEqual(['root_keys', 'root_keys']);
    expect(activeRootKey(machine.tables)).toMatchObject({ KeyID: B, CreateIndex: index, ModifyIndex: index });
  });

  it('OP-210: a key that is wrapped anew stays what it is otherwise', () => {
    const machine = withKey();
    const before = machine.tables.root_keys.get(A);
    const Wrapped = { Provider: 'transit', Data: 'vault:v1:c2VhbGVk' };
    const { index } = apply(machine, 'RootKeyRewrap', { KeyID: A, Wrapped });
    expect(machine.tables.root_keys.get(A)).toEqual({ ...before, Wrapped, ModifyIndex: index });
    expect(apply(machine, 'RootKeyRewrap', { KeyID: B, Wrapped }).verdict).toMatchObject({ code: 'not-found' });
  });

  it('OP-212: a full rotation makes all old keys rekeying, but not a prepublished one', () => {
    const machine = withKey();
    put(machine, { KeyID: B });
    put(machine, { KeyID: uuid(0xd), State: 'prepublished' });
    put(machine, { KeyID: C }, true);
    expect(states(machine)).toEqual({ [A]: 'rekeying', [B]: 'rekeying', [C]: 'active', [uuid(0xd)]: 'prepublished' });
  });

  it('GC-83, GC-86: a prepublished key becomes active, a rekeying one inactive, with the material that is stored', () => {
    const machine = withKey();
    put(machine, { KeyID: B, State: 'prepublished' });
    expect(put(machine, { KeyID: B, Wrapped: { Provider: 'aead', Data: 'other' } }).verdict.kind).toBe('accepted');
    expect(states(machine)).toEqual({ [A]: 'inactive', [B]: 'active' });
    expect(machine.tables.root_keys.get(B)?.Wrapped.Data).toBe('wrapped');
    put(machine, { KeyID: C }, true);
    expect(put(machine, { KeyID: B, State: 'inactive' }).verdict.kind).toBe('accepted');
    expect(states(machine)).toEqual({ [A]: 'rekeying', [B]: 'inactive', [C]: 'active' });
  });

  it('OP-210: nothing takes the active key away, or brings a deleted one back', () => {
    const machine = withKey();
    expect(put(machine, { KeyID: A, State: 'inactive' }).verdict).toMatchObject({ kind: 'refused', code: 'conflict' });
    expect(remove(machine, A, true).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: 'active root key cannot be deleted - call rotate first',
    });
    expect(put(machine, { KeyID: B }, false, true).verdict).toMatchObject({ kind: 'refused', code: 'not-found' });
    expect(put(aMachine(), { State: 'prepublished' }).verdict).toMatchObject({ kind: 'refused', code: 'invalid' });
    expect(put(machine, { KeyID: A }).verdict.kind).toBe('noop');
    expect(states(machine)).toEqual({ [A]: 'active' });
  });

  it('OP-213, OP-214: a key in use is deleted by force only', () => {
    const machine = withKey();
    const { stored } = placed(machine);
    put(machine, { KeyID: B });
    expect(isRootKeyInUse(machine.tables, A)).toBe(true);
    expect(remove(machine, A).verdict).toMatchObject({ kind: 'refused', error: 'root key in use, cannot delete' });
    apply(machine, 'AllocClientUpdate', {
      Allocs: [fixtures.aClientUpdate(stored(), { ClientStatus: 'complete' })],
      Evals: [],
    });
    expect(isRootKeyInUse(machine.tables, A)).toBe(false);
    expect(remove(machine, A).verdict.kind).toBe('accepted');
    expect(remove(machine, A).verdict).toMatchObject({
      kind: 'refused',
      code: 'not-found',
      error: 'root key not found',
    });
  });

  it('OP-214: an identity of a node keeps its key', () => {
    const machine = withKey();
    put(machine, { KeyID: B });
    apply(machine, 'NodeRegister', { Node: aNode({ IdentitySigningKeyID: A }), CreateNodePool: false });
    expect(remove(machine, A).verdict).toMatchObject({ kind: 'refused', code: 'conflict' });
  });

  it('says nothing of keys in events', () => {
    expect(eventsOf(put(aMachine(), {}))).toBeNull();
  });
});

describe('the signing key of an allocation', () => {
  it('AU-135, AU-137, AU-322: is the one that was active when it was placed, and stays through updates in place', () => {
    const machine = withKey();
    const { alloc, plan, stored } = placed(machine);
    expect(stored().SigningKeyID).toBe(A);
    put(machine, { KeyID: B });
    plan([{ ...alloc, SigningKeyID: 'planned' }]);
    expect(stored().SigningKeyID).toBe(A);
    expect(signingKeyOf(machine.tables, stored())?.KeyID).toBe(A);
  });

  it('AU-323: of two holders that apply the same placement one writes it, with the key of that moment', () => {
    const machine = withKey();
    const { job, evaluation } = aRegisteredJob(machine);
    const node = aNode();
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const alloc = anAlloc({ Job: job, NodeID: node.ID });
    const lease = (Epoch: number) => apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch, Holder: `h${Epoch}` });
    const plan = (epoch: number) =>
      apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }), {
        fence: { role: 'broker', epoch },
      });
    lease(1);
    lease(2);
    expect(plan(1).verdict.kind).toBe('void');
    expect(machine.tables.allocs.has(alloc.ID)).toBe(false);
    put(machine, { KeyID: B });
    const { index } = plan(2);
    const written = { SigningKeyID: B, CreateIndex: index };
    expect(machine.tables.allocs.get(alloc.ID)).toMatchObject(written);
    plan(2);
    expect(machine.tables.allocs.get(alloc.ID)).toMatchObject(written);
    expect([...machine.tables.allocs.all()]).toHaveLength(1);
  });

  it('AU-136: a refused plan leaves no allocation that could be signed for; every other placement names its key', () => {
    const machine = withKey();
    const { alloc, plan } = placed(machine);
    const other = anAlloc({ Job: alloc.Job, NodeID: alloc.NodeID });
    const orphan = anAlloc({ Job: null, JobID: 'none', NodeID: alloc.NodeID });
    expect(plan([other, orphan]).verdict.kind).toBe('refused');
    expect([other, orphan].map(({ ID }) => machine.tables.allocs.has(ID))).toEqual([false, false]);
    expect(plan([other]).verdict.kind).toBe('accepted');
    expect([...machine.tables.allocs.all()].map(({ SigningKeyID }) => SigningKeyID)).toEqual([A, A]);
  });

  it('AU-135: an allocation without one gets it by the next update in place', () => {
    const machine = aMachine();
    const { alloc, plan, stored } = placed(machine);
    expect(stored().SigningKeyID).toBe('');
    expect(signingKeyOf(machine.tables, stored())).toBeUndefined();
    put(machine, { KeyID: A });
    plan([alloc]);
    expect(stored().SigningKeyID).toBe(A);
  });

  it('AU-185: once it was deleted by force, it is the active one', () => {
    const machine = withKey();
    const { stored } = placed(machine);
    put(machine, { KeyID: B });
    expect(remove(machine, A, true).verdict.kind).toBe('accepted');
    expect(signingKeyOf(machine.tables, stored())?.KeyID).toBe(B);
  });
});
