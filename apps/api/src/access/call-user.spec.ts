import { Acl } from '@waybill/acl';
import { hostStats, type AskOptions, type Call, type Rpc } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { callsFor, callUserOf } from './call-user.js';
import { anonymous, EVERYBODY, withToken } from './caller.js';

describe('the user of the calls that the API makes', () => {
  it('AU-258: is named without any secret, with the index of the newest of the rights', () => {
    const token = fixtures.aToken({ AccessorID: 'a', ModifyIndex: 5 });
    const roles = [fixtures.aRole({ ModifyIndex: 9 })];
    const policies = [fixtures.aPolicy({ ModifyIndex: 7 })];
    const caller = withToken({ token, roles, policies }, Acl.none);
    expect(callUserOf(caller)).toEqual({ Kind: 'token', AccessorID: 'a', AtIndex: 9 });
    expect(JSON.stringify(callUserOf(caller))).not.toContain(token.SecretHash);
    expect(callUserOf(EVERYBODY)).toEqual({ Kind: 'everybody' });
    expect(callUserOf(anonymous(Acl.none, 4))).toEqual({ Kind: 'anonymous', AtIndex: 4 });
    const about = {
      namespace: 'n',
      jobId: 'j',
      group: 'g',
      allocId: 'w',
      identity: 'default',
      policies: [],
      expiresAtMs: undefined,
    };
    const workload = (task: string | undefined) =>
      callUserOf({ ...anonymous(Acl.none, 3), workload: { ...about, task } });
    expect(workload('web')).toEqual({ Kind: 'workload', AllocID: 'w', Task: 'web', AtIndex: 3 });
    expect(workload(undefined)).toEqual({ Kind: 'workload', AllocID: 'w', Task: '', AtIndex: 3 });
  });

  it('OP-172: travels with each call that is made for it', async () => {
    const asked: unknown[] = [];
    const rpc: Rpc = {
      ask: async <Req, Res>(_: Call<Req, Res>, __: Req, options?: AskOptions) => {
        asked.push(options);
        return undefined as Res;
      },
    };
    await callsFor({ access: { caller: EVERYBODY } }, rpc).ask(hostStats, {}, { target: 'n' });
    expect(asked).toEqual([{ target: 'n', authority: { user: { Kind: 'everybody' } } }]);
  });
});
