import { describe, expect, it } from 'vitest';
import { csiSecretsOf } from './csi-secrets.js';

describe('secrets in a header', () => {
  it.each([
    ['k=v', { k: 'v' }],
    ['k=v,k2=v2', { k: 'v', k2: 'v2' }],
    ['one=value_one=two', { one: 'value_one=two' }],
    ['nothing,k=v', { k: 'v' }],
    ['k=v,k=later', { k: 'later' }],
    ['k=', { k: '' }],
    ['nothing', null],
    ['', null],
    [undefined, null],
  ])('API-225, VL-268: %j is %j', (header, secrets) => {
    expect(csiSecretsOf({ headers: { 'x-nomad-csi-secrets': header } })).toEqual(secrets);
  });
});
