import { expect, it } from 'vitest';
import { proofAuthenticator } from './proof-authenticator.js';

it('AU-264: without a proof, a client has an empty one and says why once, until the reason changes', () => {
  let failure: string | undefined;
  const errors: unknown[] = [];
  const authenticate = proofAuthenticator({
    text: () => {
      if (failure !== undefined) throw new Error(failure);
      return 'proof';
    },
    onError: (error) => errors.push(error),
  });
  const sent = (reason?: string) => {
    failure = reason;
    return authenticate();
  };
  expect(['EMFILE', 'EMFILE', 'EACCES', undefined, 'EACCES'].map(sent)).toEqual([
    { auth_token: '' },
    { auth_token: '' },
    { auth_token: '' },
    { auth_token: 'proof' },
    { auth_token: '' },
  ]);
  expect(errors).toEqual(['EMFILE', 'EACCES', 'EACCES'].map((reason) => new Error(reason)));
});
