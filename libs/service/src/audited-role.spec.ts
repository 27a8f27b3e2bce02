import { FakeTime, Refusal } from '@waybill/model';
import { termOf } from '@waybill/roles';
import { type Call, call, type Rpc } from '@waybill/rpc';
import {
  type Applied,
  draftTxn,
  type Fence,
  fixtures,
  serviceActor,
  type StateMachine,
  type TxnPayloads,
  type TxnType,
} from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { AuditedCalls, auditedRole } from './audited-role.js';
import type { NewRoleEvent } from './role-audit.js';

const TERM = termOf('broker', 2, { holder: 'b2' });
const FENCE: Fence = { role: 'broker', epoch: 2 };
const OLD: Fence = { role: 'broker', epoch: 1 };

function setup() {
  const machine: StateMachine = fixtures.aMachine();
  const events: NewRoleEvent[] = [];
  const seen: Applied[] = [];
  const role = auditedRole(
    {
      role: 'broker',
      start: () => {},
      applied: (applied) => void seen.push(applied),
      stop: () => {},
      stats: () => ({}),
    },
    { record: (event) => events.push(event) },
  );
  const apply = <T extends TxnType>(
    type: T,
    payload: TxnPayloads[T],
    fence?: Fence,
    actor = serviceActor('broker'),
  ) => {
    const draft = draftTxn(type, payload, { timeNs: fixtures.timeNs, requestId: fixtures.freshId(), actor, fence });
    const applied = machine.apply({ ...draft, index: machine.appliedIndex + 1 } as never);
    role.applied(applied);
    return applied;
  };
  for (const Epoch of [1, 2]) apply('LeaseAcquired', { Role: 'broker', Epoch, Holder: `b${Epoch}` });
  return { machine, events, seen, role, apply };
}

const KEY = { Key: fixtures.aRootKey({ KeyID: 'k1' }), Rekey: false, MustExist: false };

describe('what the log says of a role', () => {
  it('AU-255, AU-281: the holder records a transaction with an older fence, and not its own', () => {
    const { role, apply, events } = setup();
    void role.start(TERM);
    apply('Ignore', {}, FENCE);
    const { index, txn } = apply('Ignore', {}, OLD);
    expect(events).toEqual([
      {
        Kind: 'write',
        By: { Role: 'broker', Epoch: 1, Holder: '' },
        TxnType: 'Ignore',
        Index: index,
        RequestID: txn.requestId,
        Error: { Code: 'forbidden', Text: 'stale epoch: b2 holds the role broker with epoch 2' },
      },
    ]);
  });

  it('AU-281: root keys that the holder made by itself are recorded, and a rotation that a user asked for is not', () => {
    const { role, apply, events } = setup();
    void role.start(TERM);
    const { index } = apply('RootKeyUpsert', KEY, FENCE);
    apply('RootKeyUpsert', { ...KEY, Key: fixtures.aRootKey({ KeyID: 'k2' }) }, FENCE, {
      Kind: 'token',
      ID: 'alice',
      Name: 'alice',
    });
    expect(events).toMatchObject([
      {
        By: { Role: 'broker', Epoch: 2, Holder: 'b2' },
        TxnType: 'RootKeyUpsert',
        Object: { Kind: 'root-key', ID: 'k1' },
        Index: index,
      },
    ]);
    expect(events[0]?.Error).toBeUndefined();
    expect(JSON.stringify(events)).not.toContain('Wrapped');
  });

  it('AU-281: tokens removed by expiry are recorded, and a collection that found nothing is not', () => {
    const { role, apply, events, machine } = setup();
    void role.start(TERM);
    const [one, other] = [1, 2].map(() => fixtures.aToken({ ExpirationTime: '2026-01-01T01:00:00.000Z' }));
    for (const token of [one!, other!]) machine.tables.acl_token.replace(token.AccessorID, token);
    const collect = (...AccessorIDs: string[]) =>
      apply('ACLTokenDelete', { AccessorIDs, ExpiredBy: '2026-01-01T01:00:00.000Z' }, FENCE).verdict.kind;
    expect([collect(one!.AccessorID), collect(one!.AccessorID), collect(other!.AccessorID, 'gone')]).toEqual([
      'accepted',
      'noop',
      'accepted',
    ]);
    expect(events.map((event) => 'Object' in event && event.Object)).toEqual([
      { Kind: 'token', ID: one!.AccessorID },
      undefined,
    ]);
  });

  it('AU-281: what another role wrote is for its own holder to record', () => {
    const { role, apply, events } = setup();
    void role.start(TERM);
    apply('Ignore', {}, { role: 'nodes', epoch: 9 });
    expect(apply('RootKeyUpsert', KEY).verdict.kind).toBe('accepted');
    expect(events).toEqual([]);
  });

  it('AU-281: a process without the role records nothing, so that each transaction has one record', () => {
    const { role, apply, events, seen } = setup();
    apply('RootKeyUpsert', KEY, FENCE);
    void role.start(TERM);
    void role.stop();
    apply('Ignore', {}, OLD);
    expect([events, seen.length]).toEqual([[], 4]);
  });
});

describe('calls of a role to machines', () => {
  const publish = call<{ volume: string }, null>('agent.publish');
  const fence = { Role: 'volumes', Epoch: 7, Holder: 'v1' } as const;

  function callsWith(answer: () => Promise<unknown>) {
    const events: NewRoleEvent[] = [];
    const rpc: Rpc = { ask: <Req, Res>(_call: Call<Req, Res>) => answer() as Promise<Res> };
    return { events, calls: new AuditedCalls(rpc, { record: (event) => events.push(event) }, new FakeTime()) };
  }

  it('AU-259: each is recorded with role, epoch, holder and machine, and without what it says', async () => {
    const { events, calls } = callsWith(() => Promise.resolve(null));
    await calls.ask(publish, { volume: 'secret' }, { target: 'n1', authority: { fence } });
    expect(events).toEqual([
      { Kind: 'call', By: fence, Call: 'agent.publish', NodeID: 'n1', TookMs: 0, Error: undefined },
    ]);
  });

  it('AU-256, AU-259: a refused fence is recorded with its refusal, which the caller still gets', async () => {
    const { events, calls } = callsWith(() => Promise.reject(new Refusal('retryable', 'stale epoch: v1')));
    const asked = calls.ask(publish, { volume: 'v' }, { target: 'n1', authority: { fence } });
    await expect(asked).rejects.toThrow('stale epoch: v1');
    expect(events).toMatchObject([{ By: fence, Error: { Code: 'retryable', Text: 'stale epoch: v1' } }]);
  });

  it('AU-259: calls for a user are not, as the API has recorded the request', async () => {
    const { events, calls } = callsWith(() => Promise.resolve(null));
    await calls.ask(publish, { volume: 'v' }, { target: 'n1', authority: { user: { Kind: 'everybody' } } });
    await calls.ask(publish, { volume: 'v' }, {});
    expect(events).toEqual([]);
  });
});
