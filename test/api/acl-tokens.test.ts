import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { KeyFileError } from '@waybill/keyring';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readClusterKey } from '../../apps/api/src/acl/cluster-key.store.js';
import { AccessCluster } from '../support/access-cluster.js';
import { EventReader } from '../support/event-reader.js';
import { eventually } from '../support/wait.js';

interface Token {
  AccessorID: string;
  SecretID: string;
  Name: string;
  Type: string;
  Roles: { ID: string; Name: string }[] | null;
  Policies: string[] | null;
  ExpirationTime: string | null;
  ExpirationTTL: string;
  ModifyIndex: number;
}

interface Answer<T> {
  readonly status: number;
  readonly text: string;
  readonly body: T;
  readonly index: number;
}

let cluster: AccessCluster;
/** Of the bootstrap: every request carries it, unless it says otherwise. */
let root: Token;
let bootstrapIndex: number;
/** Every secret that was ever made: none of them may be found anywhere. */
const secrets: string[] = [];

beforeAll(async () => {
  cluster = await AccessCluster.open(['projector', 'broker', 'scheduler', 'api']);
});

afterAll(async () => {
  await cluster?.stop();
});

async function ask<T = Token>(
  method: string,
  url: string,
  body?: unknown,
  token: string = root?.SecretID ?? '',
): Promise<Answer<T>> {
  const answer = await cluster.waybill.api.raw(url, {
    method,
    headers: token === '' ? {} : { 'X-Nomad-Token': token },
    ...(body !== undefined && { body: Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: answer.status,
    text,
    body: (isJson ? JSON.parse(text) : undefined) as T,
    index: Number(answer.headers.get('x-nomad-index')),
  };
}
const refusal = async (...given: Parameters<typeof ask>): Promise<[number, string]> => {
  const { status, text } = await ask(...given);
  return [status, text];
};
const denied = [403, 'Permission denied'];

async function create(token: object): Promise<Token> {
  const { status, text, body } = await ask('PUT', '/v1/acl/token', { Type: 'client', Name: 'ci', ...token });
  expect(status, text).toBe(200);
  secrets.push(body.SecretID);
  return body;
}
const policy = (name: string, over: object = {}) =>
  ask('PUT', `/v1/acl/policy/${name}`, { Name: name, Rules: 'namespace "default" { policy = "read" }', ...over });

describe('bootstrap', () => {
  it('OP-143, OP-144, OP-261: of bootstraps at once exactly one counts, and needs no token', async () => {
    expect(await refusal('PUT', '/v1/acl/bootstrap', { BootstrapSecret: 'mine' }, 'wrong')).toEqual([
      400,
      'invalid acl token',
    ]);
    const all = await Promise.all(Array.from({ length: 6 }, () => ask('PUT', '/v1/acl/bootstrap', undefined, 'wrong')));
    const won = all.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    const [{ body, index }] = won as [Answer<Token>];
    expect(body).toMatchObject({ Name: 'Bootstrap Token', Type: 'management', Global: true, Policies: null });
    [root, bootstrapIndex] = [body, index];
    secrets.push(root.SecretID);
    const lost = all.filter(({ status }) => status !== 200).map(({ status, text }) => [status, text]);
    expect(lost).toEqual(
      Array.from({ length: 5 }, () => [400, `ACL bootstrap already done (reset index: ${bootstrapIndex})`]),
    );
  });

  it('OP-145: the index of the last one, written into the server’s directory, is worth one more', async () => {
    const file = path.join(cluster.keyDir, 'acl-bootstrap-reset');
    writeFileSync(file, '4711');
    expect(await refusal('PUT', '/v1/acl/bootstrap')).toEqual([
      400,
      `Invalid bootstrap reset index (specified 4711, reset index: ${bootstrapIndex})`,
    ]);
    writeFileSync(file, `${bootstrapIndex}\n`);
    const BootstrapSecret = randomUUID();
    const second = await ask('POST', '/v1/acl/bootstrap', { BootstrapSecret });
    expect([second.status, second.body.SecretID]).toEqual([200, BootstrapSecret]);
    secrets.push(BootstrapSecret);
    expect(await refusal('PUT', '/v1/acl/bootstrap')).toEqual([
      400,
      `Invalid bootstrap reset index (specified ${bootstrapIndex}, reset index: ${second.index})`,
    ]);
    expect((await ask('GET', '/v1/acl/tokens', undefined, BootstrapSecret)).status).toBe(200);
  });
});

describe('tokens', () => {
  it('OP-147, OP-149, OP-154, OP-155: created, read, listed; lists have no secret', async () => {
    await policy('readers');
    const token = await create({ Policies: ['readers'], ExpirationTTL: '1h' });
    expect(token).toMatchObject({ ExpirationTTL: '1h0m0s', Type: 'client', Policies: ['readers'] });
    const read = await ask('GET', `/v1/acl/token/${token.AccessorID}`);
    expect(read.body).toEqual(token);
    const { body: list, text } = await ask<Token[]>('GET', '/v1/acl/tokens');
    expect(list.map(({ Name }) => Name)).toEqual(['Bootstrap Token', 'Bootstrap Token', 'ci']);
    for (const secret of secrets) expect(text).not.toContain(secret);
    const filtered = await ask<Token[]>('GET', `/v1/acl/tokens?filter=${encodeURIComponent('Name == "ci"')}`);
    expect(filtered.body.map(({ AccessorID }) => AccessorID)).toEqual([token.AccessorID]);
    const guessed = encodeURIComponent('SecretID matches "^."');
    expect((await ask<Token[]>('GET', `/v1/acl/tokens?filter=${guessed}`)).body ?? []).toEqual([]);
  });

  it('OP-149: a token is imported with its accessor and secret, which works from then on, in any case', async () => {
    const [AccessorID, SecretID] = [randomUUID(), randomUUID()];
    const imported = await create({ AccessorID, SecretID, Policies: ['readers'] });
    expect(imported).toMatchObject({ AccessorID, SecretID });
    expect((await ask('GET', '/v1/acl/token/self', undefined, SecretID.toUpperCase())).body).toEqual(imported);
    const unknown = randomUUID();
    expect(await refusal('PUT', '/v1/acl/token', { AccessorID: unknown, Type: 'client', Policies: ['a'] })).toEqual([
      400,
      `cannot find token ${unknown}`,
    ]);
    const clash = { AccessorID: randomUUID(), SecretID, Type: 'client', Policies: ['a'] };
    expect(await refusal('PUT', '/v1/acl/token', clash)).toEqual([409, 'the secret is that of another ACL token']);
  });

  it('OP-148, OP-150, OP-151, OP-152, OP-156: what is refused says why', async () => {
    const { AccessorID } = await create({ Policies: ['readers'] });
    const url = `/v1/acl/token/${AccessorID}`;
    const body = { AccessorID, Type: 'client', Policies: ['readers'] };
    const frame = (text: string) => `token 0 invalid: 1 error occurred:\n\t* ${text}\n\n`;
    expect(await refusal('PUT', url, { ...body, AccessorID: root.AccessorID })).toEqual([
      400,
      'ACL token accessor does not match request path',
    ]);
    expect(await refusal('PUT', '/v1/acl/token/', body)).toEqual([400, 'Missing Token Accessor']);
    expect(await refusal('PUT', url, { ...body, Global: true })).toEqual([400, frame('cannot toggle global mode')]);
    expect(await refusal('PUT', url, { ...body, ExpirationTTL: 60e9 })).toEqual([
      400,
      frame('cannot update expiration TTL'),
    ]);
    expect(await refusal('PUT', '/v1/acl/token', { Type: 'client', Policies: ['a'], ExpirationTTL: '30s' })).toEqual([
      400,
      frame('expiration time cannot be less than 1m0s in the future (was 30s)'),
    ]);
    expect(await refusal('PUT', '/v1/acl/token', { Type: 'client', Roles: [{ Name: 'none' }] })).toEqual([
      400,
      'cannot find role none',
    ]);
    expect((await ask('PUT', url, { ...body, Name: 'renamed' })).body).toMatchObject({ AccessorID, Name: 'renamed' });
    const unknown = randomUUID();
    expect(await refusal('DELETE', `/v1/acl/token/${unknown}`)).toEqual([
      400,
      `Cannot delete nonexistent tokens: ${unknown}`,
    ]);
    expect(await refusal('DELETE', url)).toEqual([200, '']);
    expect(await refusal('GET', url)).toEqual([404, 'ACL token not found']);
  });

  it('OP-112, OP-113, OP-115, OP-155: who asks is told who they are; others see nothing of a token', async () => {
    const token = await create({ Policies: ['readers'] });
    const other = await create({ Policies: ['readers'] });
    const self = await cluster.waybill.api.raw('/v1/acl/token/self', {
      headers: { Authorization: `bearer ${token.SecretID}` },
    });
    expect(await self.json()).toEqual(token);
    expect((await ask('GET', '/v1/acl/token/self', undefined, '')).body).toMatchObject({
      AccessorID: 'anonymous',
      Name: 'Anonymous Token',
      Policies: ['anonymous'],
    });
    expect(await refusal('GET', '/v1/acl/token/self', undefined, randomUUID())).toEqual(denied);
    const own = await ask('GET', `/v1/acl/token/${token.AccessorID}`, undefined, token.SecretID);
    expect(own.body).toEqual(token);
    for (const [method, url] of [
      ['GET', `/v1/acl/token/${other.AccessorID}`],
      ['GET', '/v1/acl/tokens'],
      ['PUT', '/v1/acl/token'],
      ['DELETE', `/v1/acl/token/${token.AccessorID}`],
      ['PUT', '/v1/acl/policy/a'],
      ['PUT', '/v1/acl/role'],
    ] as const)
      for (const secret of [token.SecretID, ''])
        expect(await refusal(method, url, method === 'PUT' ? {} : undefined, secret), url).toEqual(denied);
  });
});

describe('policies and roles', () => {
  it('OP-160, OP-161, OP-163, OP-164, OP-166: written, read with parsed rules, listed without', async () => {
    expect(await refusal('PUT', '/v1/acl/policy/ops', { Name: 'other' })).toEqual([
      400,
      'ACL policy name does not match request path',
    ]);
    expect((await policy('a_b')).text).toBe("policy 0 invalid: 1 error occurred:\n\t* invalid name 'a_b'\n\n");
    expect((await policy('ops', { JobACL: { JobID: 'web' } })).text).toContain('namespace must be set to set job ID');
    const written = await policy('ops', { Description: 'for operators' });
    expect([written.status, written.text]).toEqual([200, '']);
    const read = await ask<{ ModifyIndex: number; Rules: string; RulesJSON: object }>('GET', '/v1/acl/policy/ops');
    expect(read.body).toMatchObject({
      Name: 'ops',
      ModifyIndex: written.index,
      JobACL: null,
      RulesJSON: { Namespaces: [{ Name: 'default', Policy: 'read' }] },
    });
    const again = await policy('ops', { Description: 'for operators' });
    expect(again.index).toBeGreaterThan(written.index);
    const { body: list } = await ask<Record<string, unknown>[]>('GET', '/v1/acl/policies?prefix=o');
    expect(list).toMatchObject([{ Name: 'ops', Description: 'for operators' }]);
    expect(list[0]).not.toHaveProperty('Rules');
    expect(await refusal('GET', '/v1/acl/policy/none')).toEqual([404, 'ACL policy not found']);
    expect(await refusal('DELETE', '/v1/acl/policy/none')).toEqual([200, '']);
  });

  it('OP-160, OP-163, OP-165: others see their own, directly or by roles, and no others', async () => {
    await policy('by-role');
    await policy('hidden');
    const role = await ask<{ ID: string }>('PUT', '/v1/acl/role', { Name: 'team', Policies: [{ Name: 'by-role' }] });
    await ask('PUT', '/v1/acl/role', { Name: 'else', Policies: [{ Name: 'hidden' }] });
    const { SecretID } = await create({ Policies: ['readers'], Roles: [{ Name: 'team' }] });
    const names = async (url: string, secret = SecretID) =>
      ((await ask<{ Name: string }[]>('GET', url, undefined, secret)).body ?? []).map(({ Name }) => Name);
    expect(await names('/v1/acl/policies')).toEqual(['by-role', 'readers']);
    expect(await names('/v1/acl/policy/self')).toEqual(['by-role', 'readers']);
    expect(await names('/v1/acl/policies', '')).toEqual([]);
    expect(await refusal('GET', '/v1/acl/policy/self', undefined, '')).toEqual(denied);
    expect(await names('/v1/acl/roles')).toEqual(['team']);
    expect(await refusal('GET', '/v1/acl/policy/hidden', undefined, SecretID)).toEqual(denied);
    expect(await refusal('GET', '/v1/acl/role/name/else', undefined, SecretID)).toEqual(denied);
    expect((await ask('GET', '/v1/acl/role/name/team', undefined, SecretID)).status).toBe(200);
    expect((await ask('GET', `/v1/acl/role/${role.body.ID}`, undefined, SecretID)).status).toBe(200);
  });

  it('OP-165, OP-166: texts of roles; an equal one is not written; a renamed one stays with its tokens', async () => {
    const url = '/v1/acl/role';
    const made = await ask<{ ID: string; ModifyIndex: number }>('PUT', url, {
      Name: 'crew',
      Policies: [{ Name: 'ops' }, { Name: 'ops' }],
    });
    expect(made.body).toMatchObject({ Name: 'crew', Policies: [{ Name: 'ops' }], ModifyIndex: made.index });
    const { ID } = made.body;
    const body = { ID, Name: 'crew', Policies: [{ Name: 'ops' }] };
    expect((await ask('PUT', `${url}/${ID}`, body)).body.ModifyIndex).toBe(made.index);
    expect(await refusal('PUT', url, { Name: 'crew', Policies: [{ Name: 'ops' }] })).toEqual([
      400,
      'role with name crew already exists',
    ]);
    expect(await refusal('PUT', url, { Name: 'x', Policies: [{ Name: 'none' }] })).toEqual([
      400,
      'cannot find policy none',
    ]);
    const unknown = randomUUID();
    expect(await refusal('PUT', `${url}/${unknown}`, { ...body, ID: unknown })).toEqual([
      400,
      `cannot find role ${unknown}`,
    ]);
    expect(await refusal('PUT', `${url}/${unknown}`, body)).toEqual([400, 'ACL role ID does not match request path']);
    const token = await create({ Roles: [{ ID }] });
    expect(token.Roles).toEqual([{ ID, Name: 'crew' }]);
    await ask('PUT', `${url}/${ID}`, { ...body, Name: 'renamed' });
    const rolesOf = async () => (await ask('GET', `/v1/acl/token/${token.AccessorID}`)).body.Roles;
    expect(await rolesOf()).toEqual([{ ID, Name: 'renamed' }]);
    expect(await refusal('DELETE', `${url}/${ID}`)).toEqual([200, '']);
    expect(await rolesOf()).toEqual([]);
    expect((await ask('GET', '/v1/acl/token/self', undefined, token.SecretID)).status).toBe(200);
    expect(await refusal('GET', `${url}/${ID}`)).toEqual([404, 'ACL role not found']);
    expect(await refusal('DELETE', `${url}/${ID}`)).toEqual([500, 'ACL role not found']);
  });

  it('OP-263: a blocked list wakes when a policy is written', async () => {
    const { index } = await ask('GET', '/v1/acl/policies');
    const blocked = ask<{ Name: string }[]>('GET', `/v1/acl/policies?index=${index}&wait=60s`);
    await policy('woken');
    expect((await blocked).body.map(({ Name }) => Name)).toContain('woken');
    expect(await refusal('DELETE', '/v1/acl/policy/woken')).toEqual([200, '']);
    expect(await refusal('GET', '/v1/acl/policy/woken')).toEqual([404, 'ACL policy not found']);
  });
});

describe('one-time tokens', () => {
  const exchange = (OneTimeSecretID: string) =>
    ask<{ Token: Token; Index: number }>('PUT', '/v1/acl/token/onetime/exchange', { OneTimeSecretID }, '');

  it('OP-159, AU-241 to AU-243: of many callers one gets the token, and only that of a token that lives', async () => {
    expect(await refusal('PUT', '/v1/acl/token/onetime', undefined, '')).toEqual(denied);
    const token = await create({ Policies: ['readers'] });
    const make = async () => {
      const { body } = await ask<{ OneTimeToken: { OneTimeSecretID: string; AccessorID: string } }>(
        'PUT',
        '/v1/acl/token/onetime',
        undefined,
        token.SecretID,
      );
      secrets.push(body.OneTimeToken.OneTimeSecretID);
      return body.OneTimeToken;
    };
    const [first, second] = [await make(), await make()];
    expect(first.AccessorID).toBe(token.AccessorID);
    expect((await exchange(first.OneTimeSecretID)).status).toBe(403);
    const all = await Promise.all(Array.from({ length: 20 }, () => exchange(second.OneTimeSecretID)));
    expect(all.filter(({ status }) => status === 200).map(({ body }) => body.Token)).toEqual([token]);
    expect(all.filter(({ status }) => status === 403)).toHaveLength(19);
    const third = await make();
    await ask('DELETE', `/v1/acl/token/${token.AccessorID}`);
    expect((await exchange(third.OneTimeSecretID)).status).toBe(403);
  });
});

it('OP-168, EV-53: events of tokens, policies and roles, without any secret', async () => {
  const url = `${cluster.waybill.api.url}/v1/event/stream?index=1&topic=ACLToken&topic=ACLPolicy&topic=ACLRole`;
  const reader = await EventReader.open(url, root.SecretID);
  const seen = new Set<string>();
  await reader.until((lines) => {
    for (const { Events } of lines) for (const { Type } of Events) seen.add(Type);
    return seen.size === 6;
  });
  reader.close();
  expect([...seen].toSorted()).toEqual([
    'ACLPolicyDeleted',
    'ACLPolicyUpserted',
    'ACLRoleDeleted',
    'ACLRoleUpserted',
    'ACLTokenDeleted',
    'ACLTokenUpserted',
  ]);
  const text = reader.texts.join('\n');
  expect(text).toContain('"SecretID":""');
  for (const secret of secrets) expect(text).not.toContain(secret);
});

describe('an archive', () => {
  it('OP-46: taken and restored, tokens made before it work, one made since does not', async () => {
    const before = await create({ Policies: ['readers'] });
    const answer = await cluster.waybill.api.raw('/v1/operator/snapshot', {
      headers: { 'X-Nomad-Token': root.SecretID },
    });
    const archive = Buffer.from(await answer.arrayBuffer());
    const since = await create({ Policies: ['readers'] });
    expect((await ask('PUT', '/v1/operator/snapshot', archive)).status).toBe(200);
    const self = (secret: string) => ask('GET', '/v1/acl/token/self', undefined, secret);
    await eventually('the later token is gone', async () => (await self(since.SecretID)).status === 403);
    expect((await self(before.SecretID)).body).toMatchObject({ AccessorID: before.AccessorID });
    expect((await self(root.SecretID)).status).toBe(200);
    const { unpackArchive } = await import('@waybill/model/snapshot-archive');
    const { state } = await unpackArchive(archive);
    expect(state.includes(before.AccessorID)).toBe(true);
    for (const secret of secrets) expect(state.includes(secret), secret).toBe(false);
  });
});

it('no secret is in the files of NATS or PostgreSQL, in a log line, in the history or in the metrics', async () => {
  const files = filesBelow(cluster.waybill.dir);
  const holders = (text: string) => files.filter((file) => contentOf(file).includes(text));
  // What is stored in clear is found, so a secret would be.
  const inClear = holders(root.AccessorID);
  expect(inClear.some((file) => file.includes('/streams/'))).toBe(true);
  expect(inClear.some((file) => /\/postgres|\/pg|\/data\//.test(file))).toBe(true);
  expect(secrets.length).toBeGreaterThan(10);
  for (const secret of secrets) expect(holders(secret), secret).toEqual([]);
  for (const url of ['/v1/waybill/log?per_page=1000&kind=token&diff=true', '/v1/metrics', '/v1/agent/self']) {
    const { status, text } = await ask('GET', url);
    expect(status, url).toBe(200);
    for (const secret of secrets) expect(text, url).not.toContain(secret);
  }
});

const contentCache = new Map<string, Buffer>();
function contentOf(file: string): Buffer {
  let content = contentCache.get(file);
  if (!content) contentCache.set(file, (content = readFileSync(file)));
  return content;
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => statSync(file).size > 0);
}

describe('the file with the cluster’s key', () => {
  const fileWith = (text: string, mode = 0o600): string => {
    const file = path.join(cluster.keyDir, randomUUID());
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  };

  it('is hexadecimal or base64 of 32 bytes', async () => {
    const key = randomBytes(32);
    for (const text of [key.toString('hex'), `${key.toString('base64')}\n`, key.toString('base64').replace('=', '')])
      expect(await readClusterKey(fileWith(text))).toEqual(key);
  });

  it.each([
    ['', 0o600, 'holds no key: 32 bytes in hexadecimal or base64'],
    ['abcd', 0o600, 'holds no key'],
    [randomBytes(31).toString('hex'), 0o600, 'holds no key'],
    [randomBytes(32).toString('hex'), 0o640, 'is open to others than its owner (mode 640): run chmod 600 '],
    [randomBytes(32).toString('hex'), 0o604, 'is open to others than its owner (mode 604)'],
  ])('is refused with what to do: %#', async (text, mode, error) => {
    await expect(readClusterKey(fileWith(text, mode))).rejects.toThrow(error);
  });

  it('is missed by name', async () => {
    await expect(readClusterKey('')).rejects.toThrow(KeyFileError);
    await expect(readClusterKey(path.join(cluster.keyDir, 'none'))).rejects.toThrow('cannot be read: ENOENT');
  });
});
