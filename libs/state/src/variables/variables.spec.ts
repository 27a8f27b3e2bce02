import { beforeEach, describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { isRootKeyInUse } from '../keyring/root-keys.js';
import type { VariableChange } from '../log/catalogue.js';
import { objectChanges } from '../machine/object-changes.js';
import type { Applied, StateMachine } from '../machine/state-machine.js';
import { variableOutcome } from './variable-outcome.js';

const { aMachine, aNamespace, aRootKey, aVariable, apply } = fixtures;

const Path = 'app/config';
const items = { KeyID: 'key', Data: 'b25l' };
const other = { KeyID: 'key', Data: 'dHdv' };
const lockOf = (ID: string) => ({ ID, TTL: 15e9, LockDelay: 20e9 });

let machine: StateMachine;
beforeEach(() => {
  machine = aMachine();
  for (const KeyID of ['key', 'other']) apply(machine, 'RootKeyUpsert', aRootKeyUpsert(KeyID));
});
const aRootKeyUpsert = (KeyID: string) => ({ Key: aRootKey({ KeyID }), Rekey: false, MustExist: false });

const write = (change: VariableChange, over: object = {}): Applied =>
  apply(machine, 'VarApplyState', change, { namespace: 'default', ...over });
const set = (LockID = '', sealed = items) => write({ Op: 'set', Path, LockID, ...sealed });
const cas = (CheckIndex: number, LockID = '') => write({ Op: 'cas', Path, LockID, CheckIndex, ...other });
const acquire = (id: string) => write({ Op: 'lock-acquire', Path, Lock: lockOf(id), ...other });
const release = (LockID: string, AcquireIndex?: number) =>
  write({ Op: 'lock-release', Path, LockID, ...(AcquireIndex !== undefined && { AcquireIndex }) });
const stored = () => machine.tables.variables.get(`default/${Path}`);
const conflictIn = ({ verdict, changes }: Applied) => {
  expect([verdict.kind, changes]).toEqual(['noop', []]);
  const outcome = variableOutcome('result' in verdict ? verdict.result : undefined);
  return outcome && 'Conflict' in outcome ? outcome.Conflict : undefined;
};
const LOCKED = { Why: 'lock', Namespace: 'default', Path, ModifyIndex: 0 };

describe('writes', () => {
  it('OP-206, OP-213: items under a key that is gone are not stored, for nobody could read them', () => {
    const before = set();
    const gone = { KeyID: 'gone', Data: 'b25l' };
    for (const change of [
      { Op: 'set', Path, LockID: '', ...gone },
      { Op: 'cas', Path, LockID: '', CheckIndex: before.index, ...gone },
      { Op: 'lock-acquire', Path, Lock: lockOf('mine'), ...gone },
    ] as const)
      expect(conflictIn(write(change))).toMatchObject({ Why: 'key', ModifyIndex: 0 });
    expect(stored()).toMatchObject({ KeyID: 'key', ModifyIndex: before.index, Lock: null });
  });

  it('OP-195: every set moves the index and the time, also of equal items; the creation stays', () => {
    const first = set();
    const second = write({ Op: 'set', Path, LockID: '', ...items }, { timeNs: fixtures.timeNs + 5 });
    expect([first.verdict.kind, second.verdict.kind]).toEqual(['accepted', 'accepted']);
    expect(stored()).toEqual(
      aVariable({
        ...items,
        CreateIndex: first.index,
        CreateTime: fixtures.timeNs,
        ModifyIndex: second.index,
        ModifyTime: fixtures.timeNs + 5,
      }),
    );
  });

  it('OP-196, OP-198: a check-and-set holds or is a conflict that names the index, and nothing else', () => {
    expect(conflictIn(cas(7))).toEqual({ Why: 'index', Namespace: 'default', Path, ModifyIndex: 0 });
    const created = cas(0);
    expect(created.verdict).toEqual({
      kind: 'accepted',
      result: {
        Written: {
          CreateIndex: created.index,
          CreateTime: fixtures.timeNs,
          ModifyIndex: created.index,
          ModifyTime: fixtures.timeNs,
          Lock: null,
        },
      },
    });
    expect(conflictIn(cas(0))).toEqual({ Why: 'index', Namespace: 'default', Path, ModifyIndex: created.index });
    const again = cas(created.index);
    expect(again.verdict.kind).toBe('accepted');
    expect(conflictIn(cas(created.index))?.ModifyIndex).toBe(again.index);
  });

  it('OP-197: a delete of nothing is accepted and changes nothing; with an index it is checked', () => {
    const gone = write({ Op: 'delete', Path, LockID: '' });
    expect([gone.verdict, eventsOf(gone)]).toEqual([{ kind: 'noop' }, null]);
    const { index } = set();
    expect(conflictIn(write({ Op: 'delete-cas', Path, LockID: '', CheckIndex: index - 1 }))?.ModifyIndex).toBe(index);
    expect(write({ Op: 'delete-cas', Path, LockID: '', CheckIndex: index }).verdict.kind).toBe('accepted');
    expect(stored()).toBeUndefined();
  });

  it('OP-180: a namespace must exist, and is not deleted while it has variables', () => {
    const inTeam = { namespace: 'team' };
    const change = { Op: 'set', Path, LockID: '', ...items } as const;
    expect(write(change, inTeam).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: 'variable "app/config" is in nonexistent namespace "team"',
    });
    apply(machine, 'NamespaceUpsert', { Namespaces: [aNamespace({ Name: 'team' })] });
    expect(write(change, inTeam).verdict.kind).toBe('accepted');
    const remove = () => apply(machine, 'NamespaceDelete', { Names: ['team'] }).verdict;
    expect(remove()).toMatchObject({
      code: 'conflict',
      error: expect.stringContaining('variables associated with it'),
    });
    write({ Op: 'delete', Path, LockID: '' }, inTeam);
    expect(remove().kind).toBe('accepted');
  });
});

it('OP-214: a root key is in use while a variable is sealed with it', () => {
  set();
  expect([isRootKeyInUse(machine.tables, 'key'), isRootKeyInUse(machine.tables, 'other')]).toEqual([true, false]);
  set('', { ...items, KeyID: 'other' });
  expect([isRootKeyInUse(machine.tables, 'key'), isRootKeyInUse(machine.tables, 'other')]).toEqual([false, true]);
});

describe('locks', () => {
  it('OP-200: acquiring writes the items; its holder may acquire again, nobody else may', () => {
    set();
    const first = acquire('mine');
    expect(stored()).toMatchObject({ ...other, Lock: { ...lockOf('mine'), AcquireIndex: first.index } });
    expect(first.verdict).toMatchObject({ result: { Written: { Lock: { TTL: 15e9, LockDelay: 20e9 } } } });
    expect(conflictIn(acquire('yours'))).toEqual(LOCKED);
    const again = acquire('mine');
    expect(again.verdict.kind).toBe('accepted');
    expect(stored()?.Lock?.AcquireIndex).toBe(again.index);
  });

  it('OP-201: without its lock no write, and a conflict that says nothing of the variable', () => {
    const { index } = acquire('mine');
    for (const LockID of ['', 'yours']) {
      expect(conflictIn(set(LockID))).toEqual(LOCKED);
      expect(conflictIn(cas(index, LockID))).toEqual(LOCKED);
      expect(conflictIn(write({ Op: 'delete', Path, LockID }))).toEqual(LOCKED);
      expect(conflictIn(write({ Op: 'delete-cas', Path, LockID, CheckIndex: index }))).toEqual(LOCKED);
    }
    const lock = stored()?.Lock;
    expect(cas(index, 'mine').verdict.kind).toBe('accepted');
    expect(set('mine').verdict.kind).toBe('accepted');
    expect(stored()?.Lock).toEqual(lock);
    expect(write({ Op: 'delete', Path, LockID: 'mine' }).verdict.kind).toBe('accepted');
  });

  it('a holder whose lock has ended writes nothing, whoever has it now', () => {
    acquire('mine');
    release('mine');
    expect(conflictIn(set('mine'))).toEqual(LOCKED);
    acquire('yours');
    expect(conflictIn(set('mine'))).toEqual(LOCKED);
  });

  it('OP-201: a release keeps the items; a wrong ID conflicts; without lock or variable it is refused', () => {
    expect(release('mine').verdict).toMatchObject({ code: 'not-found', error: "variable doesn't exist" });
    set();
    expect(release('mine').verdict).toMatchObject({ code: 'conflict', error: "variable doesn't hold a lock" });
    acquire('mine');
    expect(conflictIn(release('yours'))).toEqual(LOCKED);
    const { index } = release('mine');
    expect(stored()).toMatchObject({ ...other, Lock: null, ModifyIndex: index });
  });

  it('OP-202: what ends a silent lock does not end one that was acquired again', () => {
    const { index } = acquire('mine');
    acquire('mine');
    expect(conflictIn(release('mine', index))).toEqual(LOCKED);
    expect(release('mine', stored()?.Lock?.AcquireIndex).verdict.kind).toBe('accepted');
  });

  it('OP-277: what ends a silent lock does not end the lock of a caller who acquired it after a release', () => {
    const { index } = acquire('mine');
    release('mine');
    acquire('yours');
    expect(conflictIn(release('mine', index))).toEqual(LOCKED);
    expect(stored()?.Lock?.ID).toBe('yours');
  });
});

it('OP-205, EV-53, CL-1064: event, history and verdict show neither items nor the lock’s ID', () => {
  const shown = [set(), acquire('mine'), acquire('yours'), cas(1, 'mine'), release('mine')].map((applied) => {
    const changes = objectChanges(applied).map(({ kind, namespace, id, op, text, undo }) => ({
      kind,
      namespace,
      id,
      op,
      text,
      set: undo && { ...undo.set, Lock: null },
    }));
    return { verdict: applied.verdict, events: eventsOf(applied)?.Events, changes };
  });
  const text = JSON.stringify(shown);
  for (const hidden of [items.Data, other.Data, '"mine"', '"yours"']) expect(text).not.toContain(hidden);
  expect(shown.map(({ changes }) => changes.map(({ op, text: said }) => `${op}: ${said}`).join())).toEqual([
    'create: created',
    'update: locked',
    'none: ',
    'none: ',
    'update: unlocked',
  ]);
  expect(shown[1]?.events).toMatchObject([
    {
      Topic: 'Variable',
      Type: 'VariableUpdated',
      Key: Path,
      Namespace: 'default',
      Payload: { Metadata: { Path, Lock: { ID: '', TTL: '15s', LockDelay: '20s' } }, Deleted: false },
    },
  ]);
});
