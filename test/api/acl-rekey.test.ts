import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccessCluster, type MadeToken } from '../support/access-cluster.js';
import { ApiClient } from '../support/api-client.js';
import { runCli } from '../support/cli.js';

let cluster: AccessCluster;
let dir: string;
const keyFile = (name: string): string => path.join(dir, name);

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-rekey-'));
  for (const name of ['old', 'new'])
    writeFileSync(keyFile(name), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  cluster = await AccessCluster.start(['projector', 'api'], {
    WAYBILL_ACL_KEY_FILE: keyFile('old'),
    WAYBILL_ACL_OTHER_KEY_FILE: keyFile('new'),
  });
});
afterAll(async () => {
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** One more API, with these keys. */
async function api(as: string, present: string, other: string): Promise<ApiClient> {
  const port = await freePort();
  await cluster.waybill.startService('api', as, {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_ACL_KEY_FILE: keyFile(present),
    WAYBILL_ACL_OTHER_KEY_FILE: other === '' ? '' : keyFile(other),
  });
  return new ApiClient(`http://127.0.0.1:${port}`);
}

async function ask<T>(at: ApiClient, method: string, url: string, token: string, body?: unknown) {
  const answer = await at.raw(url, {
    method,
    ...(token !== '' && { headers: { 'X-Nomad-Token': token } }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, text, body: (answer.ok && text !== '' ? JSON.parse(text) : undefined) as T };
}

it('the key of access control changes while the cluster works, and every token stays valid', async () => {
  const first = cluster.waybill.api;
  const { management } = cluster;
  const isKnown = async (at: ApiClient, secret: string): Promise<number> =>
    (await ask(at, 'GET', '/v1/acl/token/self', secret)).status;

  await cluster.policy('readers', 'namespace "default" { policy = "read" }');
  const before = await cluster.token('before', ['readers']);
  await cluster.asked('PUT', '/v1/acl/auth-method', {
    Name: 'people',
    Type: 'OIDC',
    TokenLocality: 'local',
    MaxTokenTTL: '1h',
    Config: {
      OIDCDiscoveryURL: 'https://login.example.org',
      OIDCClientID: 'waybill',
      OIDCClientSecret: 'hush hush',
      AllowedRedirectURIs: ['http://localhost:4649/oidc/callback'],
    },
  });
  const oneTime = await cluster.asked<{ OneTimeToken: { OneTimeSecretID: string } }>('PUT', '/v1/acl/token/onetime');

  // Some APIs seal with the new key already, and others still with the old one.
  const second = await api('second', 'new', 'old');
  const during = await ask<MadeToken>(second, 'PUT', '/v1/acl/token', management, {
    Name: 'during',
    Type: 'client',
    Policies: ['readers'],
  });
  for (const at of [first, second])
    for (const secret of [management, before.SecretID, during.body.SecretID])
      expect(await isKnown(at, secret)).toBe(200);
  const exchange = { OneTimeSecretID: oneTime.OneTimeToken.OneTimeSecretID };
  const exchanged = await ask<{ Token: MadeToken }>(second, 'PUT', '/v1/acl/token/onetime/exchange', '', exchange);
  expect([exchanged.status, exchanged.body.Token.SecretID]).toEqual([200, management]);

  expect((await ask(second, 'PUT', '/v1/waybill/acl/rekey', before.SecretID)).status).toBe(403);
  const { code, out } = await runCli(second.url, ['acl', 'rekey'], { NOMAD_TOKEN: management });
  expect([code, out]).toEqual([0, 'Stored under the present key: 2 tokens, 1 auth methods\n']);

  // An API that has never seen the old key.
  const third = await api('third', 'new', '');
  for (const at of [first, second, third])
    for (const secret of [management, before.SecretID, during.body.SecretID])
      expect(await isKnown(at, secret)).toBe(200);
  const shown = await ask<MadeToken>(third, 'GET', `/v1/acl/token/${before.AccessorID}`, management);
  expect(shown.body.SecretID).toBe(before.SecretID);
  const again = await ask(third, 'PUT', '/v1/waybill/acl/rekey', management);
  expect(again.body).toEqual({ Tokens: 0, AuthMethods: 0, Unreadable: 0 });
});
