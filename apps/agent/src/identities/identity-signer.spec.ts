import type { Call, Rpc, SignIdentitiesRequest, SignIdentitiesResponse } from '@waybill/rpc';
import { expect, it } from 'vitest';
import { IdentitiesRejectedError, serversSigner } from './identity-signer.js';

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
