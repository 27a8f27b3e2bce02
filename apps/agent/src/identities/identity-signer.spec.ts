import type { Call, Rpc, SignIdentitiesRequest, SignIdentitiesResponse } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { anIdentity, aService } from '../fixtures/task-identity.js';
import { IdentitiesRejectedError, serversSigner } from './identity-signer.js';
import { wantedIdentities } from './wanted-identities.js';

/** Signs what the function says, for the task `web` of the allocation `a`. */
function signing(answer: (request: SignIdentitiesRequest) => SignIdentitiesResponse, ...identities: string[]) {
  const rpc: Rpc = {
    ask: <Req, Res>(_: Call<Req, Res>, request: Req): Promise<Res> =>
      Promise.resolve(answer(request as SignIdentitiesRequest) as Res),
  };
  const signer = serversSigner(rpc, () => ({ ID: 'n', SecretID: 's' }));
  return signer(
    'a',
    7,
    identities.map((identity) => ({ task: 'web', identity })),
  );
}

it('AU-143: the error names every rejected request, although others were signed', async () => {
  const signed = signing(
    ({ Identities }) => ({
      Signed: Identities.slice(0, 1).map((one) => ({ ...one, JWT: 'jwt', ValidMs: null })),
      Rejected: Identities.slice(1).map((one) => ({ ...one, Reason: `no ${one.Identity}` })),
    }),
    'aws',
    'gcp',
    'vault',
  );
  await expect(signed).rejects.toThrow(IdentitiesRejectedError);
  await expect(signed).rejects.toThrow(
    '1/2 signing request was rejected: no gcp (task "web", identity "gcp"); ' +
      '2/2 signing request was rejected: no vault (task "web", identity "vault")',
  );
});

it('AU-140, AU-141: a request carries the secret of the machine and the index of the allocation', async () => {
  const asked: SignIdentitiesRequest[] = [];
  await signing((request) => {
    asked.push(request);
    return { Signed: [], Rejected: [] };
  }, 'aws');
  const Identities = [{ AllocID: 'a', WorkloadType: 'task', Workload: 'web', Identity: 'aws' }];
  expect(asked).toEqual([{ NodeID: 'n', SecretID: 's', MinStateIndex: 7, Identities }]);
});

it('AU-131, AU-133: the identity of a service is requested by both names and kept for the task that receives it', async () => {
  const asked: SignIdentitiesRequest[] = [];
  const rpc: Rpc = {
    ask: <Req, Res>(_: Call<Req, Res>, request: Req): Promise<Res> => {
      const { Identities } = request as SignIdentitiesRequest;
      asked.push(request as SignIdentitiesRequest);
      // The servers may answer in any order.
      const Signed = Identities.map((one) => ({ ...one, JWT: `${one.WorkloadType} ${one.Workload}`, ValidMs: 1 }));
      return Promise.resolve({ Signed: Signed.toReversed(), Rejected: [] } as Res);
    },
  };
  const group = {
    Tasks: [fixtures.aTask({ Name: 'web', Identities: [anIdentity('aws', { TTL: 0 })] })],
    Services: [
      aService({ Name: 'web-${N}', TaskName: 'web', Identity: anIdentity('', { File: true, TTL: 0 }) }),
      aService({ Name: 'other', TaskName: 'other', Identity: anIdentity('', { File: true }) }),
      aService({ Name: 'unread', TaskName: 'web', Identity: anIdentity('') }),
    ],
  };
  const wanted = wantedIdentities(group, (name, task) => name.replace('${N}', task ? 'task' : '7'));
  const tokens = await serversSigner(rpc, () => ({ ID: 'n', SecretID: 's' }))('a', 7, wanted);
  expect(asked[0]?.Identities).toEqual([
    { AllocID: 'a', WorkloadType: 'task', Workload: 'web', Identity: 'aws' },
    { AllocID: 'a', WorkloadType: 'service', Workload: 'web-${N}', InterpolatedName: 'web-7', Identity: '' },
  ]);
  expect(tokens).toEqual([
    { task: 'web', identity: 'aws', jwt: 'task web', validMs: 1 },
    { task: 'web', identity: 'service/web-${N}', jwt: 'service web-${N}', validMs: 1 },
  ]);
});
