import { Acl } from '@waybill/acl';
import { expect, it } from 'vitest';
import { anonymous, type Caller, EVERYBODY, identityText } from './caller.js';

it('DR-17: a caller is named by token or allocation; nobody is while access control is off', () => {
  const caller = (over: object): Caller => ({ ...anonymous(Acl.management), ...over });
  expect(identityText(EVERYBODY)).toBe('token:acls-disabled');
  expect(identityText(anonymous(Acl.management))).toBe('token:anonymous');
  expect(identityText(caller({ token: { AccessorID: 'a1' } }))).toBe('token:a1');
  expect(identityText(caller({ workload: { allocId: 'w1' } }))).toBe('alloc:w1');
});
