import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface Key {
  readonly KeyID: string;
  readonly State: string;
}

const ISSUER = 'https://waybill.example.org';
let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  const settings = { WAYBILL_KEYRING_KEY: randomBytes(32).toString('base64'), WAYBILL_OIDC_ISSUER: ISSUER };
  waybill = await WaybillProcesses.startTogether(settings, ['projector', 'broker', 'api']);
  api = waybill.api;
  await eventually('the first key is made', async () => (await keys()).length > 0);
});
afterAll(() => waybill?.stop());

const keys = (): Promise<Key[]> => api.get<Key[]>('/v1/operator/keyring/keys');
const statesOf = async (): Promise<string[]> => (await keys()).map(({ State }) => State).toSorted();
const asked = async (method: string, path: string): Promise<[number, string]> => {
  const answer = await api.raw(path, { method });
  return [answer.status, await answer.text()];
};

describe('the keyring', () => {
  it('OP-210, OP-211: has one active key, and its metadata is all that is shown', async () => {
    const [key] = await keys();
    expect(Object.keys(key ?? {}).toSorted()).toEqual(
      ['Algorithm', 'CreateIndex', 'CreateTime', 'KeyID', 'ModifyIndex', 'PublishTime', 'State'].toSorted(),
    );
    expect(key).toMatchObject({ State: 'active', Algorithm: 'aes256-gcm', PublishTime: 0 });
    expect(await asked('PUT', '/v1/operator/keyring/keys')).toEqual([405, 'Invalid method']);
    expect(await asked('GET', '/v1/operator/keyring/else')).toEqual([405, 'Invalid method']);
    expect(await asked('GET', '/v1/operator/keyring/rotate')).toEqual([405, 'Invalid method']);
  });

  it('AU-1: tokens for new machines are given without access control too, to anybody', async () => {
    const path = '/v1/acl/identity/client-introduction-token';
    const answer = await api.raw(path, { method: 'POST', body: '{"NodePool":"gpu"}' });
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { JWT: expect.stringMatching(/^ey.+\..+\./) as string },
    ]);
    expect(await asked('GET', path)).toEqual([405, 'Invalid method']);
    expect(await asked('GET', '/v1/acl/identity')).toEqual([400, 'ACL support disabled']);
  });

  it('OP-212, OP-213, OP-215, AU-178 to AU-181: keys are rotated, published and deleted', async () => {
    const [first = { KeyID: '' }] = await keys();
    const [status, text] = await asked('POST', '/v1/operator/keyring/rotate');
    const rotated = JSON.parse(text) as { Key: Key; Index: number };
    expect([status, rotated.Key.State, rotated.Index > 0]).toEqual([200, 'active', true]);
    expect(await statesOf()).toEqual(['active', 'inactive']);

    const at = String((Date.now() + 3_600_000) * 1e6);
    const ahead = JSON.parse((await asked('PUT', `/v1/operator/keyring/rotate?publish_time=${at}`))[1]) as { Key: Key };
    expect(ahead.Key).toMatchObject({ State: 'prepublished', PublishTime: Number(at) });

    const published = await api.raw('/.well-known/jwks.json');
    expect(published.headers.get('cache-control')).toMatch(/^max-age=\d{7}$/);
    const { keys: jwks } = (await published.json()) as { keys: { kid: string }[] };
    expect(jwks.map(({ kid }) => kid)).toEqual([ahead.Key.KeyID, rotated.Key.KeyID, first.KeyID]);
    const head = await api.raw('/.well-known/jwks.json', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(await api.get('/.well-known/openid-configuration')).toMatchObject({
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/.well-known/jwks.json`,
    });

    const remove = (id: string, query = '') => asked('DELETE', `/v1/operator/keyring/key/${id}${query}`);
    expect(await remove('absent')).toEqual([404, 'root key not found']);
    expect(await remove(rotated.Key.KeyID, '?force=true')).toEqual([
      400,
      'active root key cannot be deleted - call rotate first',
    ]);
    expect(await remove(first.KeyID, '?force=maybe')).toEqual([422, 'invalid force parameter']);
    expect(await remove(first.KeyID)).toEqual([200, expect.stringMatching(/^\{"Index":\d+\}$/)]);
    expect(await statesOf()).toEqual(['active', 'prepublished']);
  });

  it('OP-212, GC-86: a full rotation encrypts variables anew, after which the old key can go', async () => {
    const Items = { password: 'of the database' };
    const written = await api.raw('/v1/var/app/db', { method: 'PUT', body: JSON.stringify({ Items }) });
    expect(written.status).toBe(200);
    const old = (await keys()).find(({ State }) => State === 'active');
    expect((await asked('PUT', '/v1/operator/keyring/rotate?full'))[0]).toBe(200);
    const stateOf = async (): Promise<string | undefined> =>
      (await keys()).find(({ KeyID }) => KeyID === old?.KeyID)?.State;
    await eventually('the old key has no variables left', async () => (await stateOf()) === 'inactive');
    expect((await asked('DELETE', `/v1/operator/keyring/key/${old?.KeyID}`))[0]).toBe(200);
    expect(await api.get('/v1/var/app/db')).toMatchObject({ Items });
  });
});
