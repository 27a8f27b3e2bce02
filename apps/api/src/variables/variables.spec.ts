import { Acl } from '@waybill/acl';
import { KeyringError } from '@waybill/keyring';
import { fixtures, type VariableOutcome } from '@waybill/state';
import { expect, it } from 'vitest';
import { anonymous, EVERYBODY } from '../access/caller.js';
import { ofVariable } from '../access/needs.js';
import { RequestAccess } from '../access/request-access.js';
import type { UnsealedWrite } from './decisions/variable-write.js';
import { Variables } from './variables.js';

const owner = { Namespace: 'default', Path: 'app/config' };
const author = { actor: { Kind: 'anonymous', ID: '', Name: 'anonymous' }, reason: '' } as const;
const stored = fixtures.aVariable({ ModifyIndex: 7 });
const unsealable = 'root key 00000000 not found';

interface Given {
  /** What verdicts say. */
  readonly result?: unknown;
  /** Of the first copy of a transaction. */
  readonly first?: VariableOutcome;
  readonly isGone?: boolean;
  readonly opens?: boolean;
}

const variablesOf = ({ result, first, isGone = false, opens = true }: Given): Variables =>
  new Variables({
    model: {
      variables: {
        variable: async () => ({ index: 9, row: isGone ? undefined : stored }),
        variables: async () => ({ index: 9, rows: [], nextToken: '' }),
      },
      txnVerdict: async (index) => ({ index, requestId: '', verdict: { kind: 'accepted', result: first } }),
    },
    writes: { write: async () => ({ index: 12, isNoop: false, result }) },
    keyring: {
      sealItems: async () => ({ KeyID: 'key', Data: 'c2VhbGVk' }),
      openItems: async () => {
        if (!opens) throw new KeyringError(unsealable);
        return { user: 'app' };
      },
    },
    rpc: { ask: () => Promise.reject(new Error('nobody is asked')) },
  });
const access = (caller = EVERYBODY): RequestAccess =>
  new RequestAccess(caller, ofVariable('write'), 'default', async () => []);
const set: UnsealedWrite = {
  items: { user: 'app' },
  seal: (sealed) => ({ Op: 'set', Path: owner.Path, LockID: '', ...sealed }),
};
const times = { CreateIndex: 12, CreateTime: 1, ModifyIndex: 12, ModifyTime: 1 };

it('OP-206: what cannot be decrypted is an error that names the key, never a variable without items', async () => {
  await expect(variablesOf({ opens: false }).read(access(), owner)).rejects.toThrow(unsealable);
});

it('ST-6, OP-195: a second copy of a write answers what the first one came to', async () => {
  const Written = { ...times, Lock: null };
  const variables = variablesOf({ result: { firstIndex: 11 }, first: { Written } });
  const answer = { status: 200, body: { ...owner, ...times, Items: { user: 'app' } } };
  expect(await variables.write(access(), author, owner, set)).toMatchObject(answer);
  const conflict = variablesOf({
    result: { firstIndex: 11 },
    first: { Conflict: { Why: 'index', ...owner, ModifyIndex: 7 } },
  });
  expect((await conflict.write(access(), author, owner, set)).status).toBe(409);
  await expect(variablesOf({ result: { firstIndex: 11 } }).write(access(), author, owner, set)).rejects.toThrow(
    'what became of it is not known',
  );
});

it('OP-196, OP-200: a conflict shows the variable to who may read it, and its name alone where there is none', async () => {
  const conflict = (over: Given = {}) =>
    variablesOf({ result: { Conflict: { Why: 'index', ...owner, ModifyIndex: 7 } }, ...over });
  const seen = await conflict().write(access(), author, owner, set);
  expect(seen).toMatchObject({ status: 409, index: 7, body: { ModifyIndex: 7, Items: { user: 'app' } } });
  const blind = await conflict().write(access(anonymous(Acl.none)), author, owner, set);
  expect(blind).toMatchObject({ status: 409, index: 7, body: { ModifyIndex: 7 } });
  expect(blind.body).not.toHaveProperty('Items');
  expect(await conflict({ isGone: true }).write(access(), author, owner, set)).toEqual({
    status: 409,
    index: 0,
    body: owner,
  });
  const locked = variablesOf({ result: { Conflict: { Why: 'lock', ...owner, ModifyIndex: 0 } } });
  expect((await locked.write(access(), author, owner, set)).body).toEqual(owner);
});
