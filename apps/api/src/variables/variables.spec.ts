import { KeyringError } from '@waybill/keyring';
import { FakeTime, type Variable } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { asService, TransactionWriter } from '@waybill/writing';
import { beforeEach, describe, expect, it } from 'vitest';
import { EVERYBODY } from '../access/caller.js';
import { ofVariable } from '../access/needs.js';
import { RequestAccess } from '../access/request-access.js';
import { variableWrite } from './decisions/variable-write.js';
import { Variables } from './variables.js';

const owner = { Namespace: 'default', Path: 'app/db' };
const access = new RequestAccess(EVERYBODY, ofVariable('write'), 'default', async () => []);

let state: LocalState;
/** The keys that items are sealed under, one after the other; the last one from then on. */
let keys: string[];
let seals: number;
let requestIds: string[];
let variables: Variables;
/** The rows that are read, one after the other; the last one from then on. */
let rows: (Variable | undefined)[];
let readRows: number;

beforeEach(() => {
  state = new LocalState(fixtures.aMachine());
  fixtures.apply(state.machine, 'RootKeyUpsert', {
    Key: fixtures.aRootKey({ KeyID: 'present' }),
    Rekey: false,
    MustExist: false,
  });
  [seals, requestIds] = [0, []];
  [rows, readRows] = [[undefined], 0];
  variables = new Variables({
    rpc: { ask: () => Promise.reject(new Error('nobody is asked')) },
    model: {
      variables: {
        variable: async () => ({ index: 1, row: rows[Math.min(readRows++, rows.length - 1)] }),
        variables: () => Promise.reject(new Error('nothing is listed')),
      },
      txnVerdict: async () => undefined,
    },
    writes: new TransactionWriter({
      log: {
        propose: (txn, options) => {
          // The log takes a request ID once, and answers a second one with what became of the first (ST-6).
          expect(requestIds).not.toContain(txn.requestId);
          requestIds.push(txn.requestId);
          return state.propose(txn, options);
        },
      },
      clock: new FakeTime(),
      newId: () => `later-${seals}`,
      region: 'global',
      caughtUp: async () => undefined,
    }),
    keyring: {
      sealItems: async () => ({ KeyID: keys[Math.min(seals++, keys.length - 1)] ?? '', Data: 'c2VhbGVk' }),
      openItems: async (_, { KeyID }) => {
        if (!state.tables.root_keys.has(KeyID)) throw new KeyringError(`root key ${KeyID} not found`);
        return { by: KeyID };
      },
    },
  });
});

const put = () => {
  const given = { Namespace: '', Items: { password: 'x' }, Lock: null };
  return variables.write(
    access,
    { ...asService('test'), requestId: 'of the request' },
    owner,
    variableWrite(owner, given, { op: 'write' }, () => 'lock'),
  );
};

it('OP-206, OP-213: items whose key was deleted meanwhile are sealed once more', async () => {
  keys = ['deleted', 'present'];
  expect(await put()).toMatchObject({ status: 200, body: { Items: { password: 'x' } } });
  expect([seals, state.tables.variables.get('default/app/db')?.KeyID]).toEqual([2, 'present']);
});

it('a key that goes again and again ends in an answer, and stores nothing', async () => {
  keys = ['deleted'];
  await expect(put()).rejects.toThrow('try again');
  expect([seals, state.tables.variables.size]).toEqual([3, 0]);
});

it('OP-206, OP-212: a variable that was encrypted anew while it was read is read again', async () => {
  rows = [fixtures.aVariable({ KeyID: 'removed' }), fixtures.aVariable({ KeyID: 'present', ModifyIndex: 9 })];
  expect(await variables.readVariable(access, owner)).toMatchObject({
    value: { Items: { by: 'present' }, ModifyIndex: 9 },
  });
});

it('OP-206: a variable whose key is gone is an error that names the key, and a deleted one is not there', async () => {
  rows = [fixtures.aVariable({ KeyID: 'removed' })];
  await expect(variables.readVariable(access, owner)).rejects.toThrow('root key removed not found');
  expect(readRows).toBe(2);
  [rows, readRows] = [[fixtures.aVariable({ KeyID: 'removed' }), undefined], 0];
  expect(await variables.readVariable(access, owner)).toMatchObject({ value: undefined });
});

describe('a lock', () => {
  const acquire = (ID: string, requestId: string) => {
    const given = { Namespace: '', Items: { holder: ID }, Lock: { ID, TTL: 0, LockDelay: 0 } };
    const wanted = variableWrite(owner, given, { op: 'lock-acquire' }, () => 'new');
    return variables.write(access, { ...asService('test'), requestId }, owner, wanted);
  };
  const stored = (): Variable | undefined => state.tables.variables.get('default/app/db');

  it('OP-200: of another caller is refused without a transaction, and its holder may acquire it again', async () => {
    keys = ['present'];
    expect(await acquire('first', 'a')).toMatchObject({ status: 200, body: { Lock: { ID: 'first' } } });
    rows = [stored()];
    const before = requestIds.length;
    expect(await acquire('second', 'b')).toEqual({ status: 409, index: 0, body: owner });
    expect(requestIds).toHaveLength(before);
    expect(await acquire('first', 'c')).toMatchObject({ status: 200 });
    expect(requestIds).toHaveLength(before + 1);
  });

  it('OP-198, OP-200: that the read model does not know yet is refused where the write is applied', async () => {
    keys = ['present'];
    await acquire('first', 'a');
    expect(await acquire('second', 'b')).toEqual({ status: 409, index: 0, body: owner });
    expect(stored()?.Lock?.ID).toBe('first');
  });
});
