import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { runCli } from '../support/cli.js';
import { EventReader } from '../support/event-reader.js';

interface Method {
  Name: string;
  Config: Record<string, unknown>;
  CreateIndex: number;
  ModifyIndex: number;
}
interface Rule {
  ID: string;
  Selector: string;
  ModifyIndex: number;
}

let cluster: AccessCluster;
/** Every client secret that was ever sent: none of them may be found anywhere. */
const secrets: string[] = [];

beforeAll(async () => {
  cluster = await AccessCluster.start(['projector', 'broker', 'scheduler', 'api']);
});
afterAll(async () => {
  await cluster?.stop();
});

async function ask<T>(method: string, url: string, body?: unknown, token = cluster.management) {
  const answer = await cluster.send(method, `/v1/acl/${url}`, token, body);
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  const index = Number(answer.headers.get('x-nomad-index'));
  return { status: answer.status, text, body: (isJson ? JSON.parse(text) : undefined) as T, index };
}
const refusal = async (...given: Parameters<typeof ask>): Promise<[number, string]> => {
  const { status, text } = await ask(...given);
  return [status, text];
};

function newSecret(): string {
  const secret = `hush-${randomUUID()}-${randomUUID()}`;
  secrets.push(secret);
  return secret;
}
const oidc = (Name: string, over: object = {}) => ({
  Name,
  Type: 'OIDC',
  TokenLocality: 'local',
  MaxTokenTTL: '1h',
  Config: {
    OIDCDiscoveryURL: 'https://login.example.org',
    OIDCClientID: 'waybill',
    OIDCClientSecret: newSecret(),
    OIDCClientAssertion: { KeySource: 'client_secret' },
    AllowedRedirectURIs: ['http://localhost:4649/oidc/callback'],
    ClaimMappings: { team: 'team', email: 'mail' },
  },
  ...over,
});
const jwt = (Name: string, over: object = {}) =>
  oidc(Name, { Type: 'JWT', Config: { JWKSURL: 'https://ci.example.org/keys' }, ...over });

describe('auth methods', () => {
  it('AU-6, AU-21, AU-22, AU-25, AU-26: written, read without secrets, sent back as read, and deleted', async () => {
    const made = await ask<Method>('PUT', 'auth-method', oidc('people'));
    expect([made.status, made.body.ModifyIndex]).toEqual([200, made.index]);
    expect(made.body).toMatchObject({
      MaxTokenTTL: '1h0m0s',
      TokenNameFormat: '${auth_method_type}-${auth_method_name}',
      Default: false,
      Config: {
        OIDCClientSecret: 'redacted',
        OIDCClientAssertion: { KeyAlgorithm: 'HS256', Audience: ['https://login.example.org'], PrivateKey: null },
        OIDCScopes: null,
        ExpirationLeeway: '',
      },
    });
    const read = await ask<Method>('GET', 'auth-method/people');
    expect([read.body, read.index]).toEqual([made.body, made.index]);
    const same = await ask<Method>('PUT', 'auth-method/people', read.body);
    expect([same.status, same.body]).toEqual([200, made.body]);
    const changed = await ask<Method>('POST', 'auth-method/people', { ...read.body, MaxTokenTTL: '2h' });
    expect(changed.body).toMatchObject({
      MaxTokenTTL: '2h0m0s',
      Config: made.body.Config,
      CreateIndex: made.index,
      ModifyIndex: changed.index,
    });
    expect(await refusal('DELETE', 'auth-method/people')).toEqual([200, '']);
    expect(await refusal('GET', 'auth-method/people')).toEqual([404, 'ACL auth-method not found']);
    expect(await refusal('DELETE', 'auth-method/people')).toEqual([500, 'ACL auth method not found']);
  });

  it('AU-2, AU-11, AU-18: what is refused says why', async () => {
    expect(await refusal('PUT', 'auth-method/', oidc('a'))).toEqual([400, 'missing ACL auth-method name']);
    expect(await refusal('PUT', 'auth-method/b', oidc('a'))).toEqual([
      400,
      'ACL auth-method name does not match request path',
    ]);
    expect(await refusal('PUT', 'auth-method', oidc('a', { TokenLocality: '' }))).toEqual([
      400,
      "auth method 0 invalid: 1 error occurred:\n\t* invalid token locality ''\n\n",
    ]);
    expect(await refusal('PUT', 'auth-method')).toEqual([400, 'Request body is empty']);
    expect(await refusal('PATCH', 'auth-method')).toEqual([405, 'Invalid method']);
    for (const name of ['%00', '%ff%fe', '%E2%80%AE', '..%2f..', '__proto__', 'a'.repeat(5_000)])
      for (const of of ['auth-method', 'binding-rule']) {
        const { status } = await ask('GET', `${of}/${name}`);
        expect([400, 404], `${of}/${name}`).toContain(status);
      }
  });

  it('AU-3, AU-4, AU-5: anybody lists stubs, by name; the rest is for management', async () => {
    for (const name of ['zz', 'B', 'a']) expect((await ask('PUT', 'auth-method', jwt(name))).status).toBe(200);
    const reader = await cluster.tokenWith('namespace "default" { policy = "write" }');
    for (const token of ['', randomUUID(), reader]) {
      const { body } = await ask<Record<string, unknown>[]>('GET', 'auth-methods', undefined, token);
      expect(body.map((method) => method['Name'])).toEqual(['B', 'a', 'zz']);
      expect(Object.keys(body[0] ?? {}).toSorted()).toEqual(
        ['Name', 'Type', 'Default', 'Hash', 'CreateIndex', 'ModifyIndex'].toSorted(),
      );
      const secret = encodeURIComponent('Config.JWKSURL matches "^h"');
      expect(await refusal('GET', `auth-methods?filter=${secret}`, undefined, token)).toMatchObject({ 0: 400 });
    }
    for (const [method, url] of [
      ['GET', 'auth-method/a'],
      ['PUT', 'auth-method'],
      ['PUT', 'auth-method/a'],
      ['DELETE', 'auth-method/a'],
      ['GET', 'binding-rules'],
      ['GET', 'binding-rule/a'],
      ['PUT', 'binding-rule'],
      ['DELETE', 'binding-rule/a'],
    ] as const)
      for (const token of ['', reader])
        expect(await refusal(method, url, method === 'PUT' ? {} : undefined, token), `${method} ${url}`).toEqual([
          403,
          'Permission denied',
        ]);
    const page = await cluster.send('GET', '/v1/acl/auth-methods?per_page=2', '');
    expect([((await page.json()) as Method[]).length, page.headers.get('x-nomad-nexttoken')]).toEqual([2, 'zz']);
  });

  it('AU-20: of writers at once that want the default exactly one gets it', async () => {
    const names = ['d1', 'd2', 'd3', 'd4'];
    const all = await Promise.all(names.map((name) => ask('PUT', 'auth-method', jwt(name, { Default: true }))));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, text } of all)
      if (status !== 200) expect(`${status} ${text}`).toMatch(/^400 default (ACL auth )?method already exists: d\d$/);
    const { body } = await ask<{ Default: boolean }[]>('GET', 'auth-methods');
    expect(body.filter((method) => method.Default)).toHaveLength(1);
  });

  it('AU-5: a blocked read wakes when the method is written', async () => {
    const { index } = await ask('GET', 'auth-method/late');
    const blocked = ask<Method>('GET', `auth-method/late?index=${index}&wait=60s`);
    await ask('PUT', 'auth-method', oidc('late'));
    expect((await blocked).body.Name).toBe('late');
  });
});

describe('binding rules', () => {
  it('AU-6, AU-7, AU-31 to AU-36: written, changed, listed and deleted', async () => {
    await ask('PUT', 'auth-method', jwt('bound'));
    const rule = {
      AuthMethod: 'bound',
      BindType: 'role',
      BindName: 'nobody-${value.team}',
      Selector: 'value.team is not empty',
    };
    expect(await refusal('PUT', 'binding-rule', { ...rule, AuthMethod: 'none' })).toEqual([
      400,
      'ACL auth method none not found',
    ]);
    expect((await refusal('PUT', 'binding-rule', { ...rule, Selector: 'value.team ==' }))[1]).toMatch(
      /^binding rule 0 invalid: 1 error occurred:\n\t\* selector is invalid: /,
    );
    const made = await ask<Rule>('PUT', 'binding-rule', rule);
    const { ID } = made.body;
    expect(made.body).toMatchObject({ ...rule, Description: '', ModifyIndex: made.index });
    expect((await ask<Rule>('PUT', `binding-rule/${ID}`, rule)).body).toEqual(made.body);
    expect(await refusal('PUT', `binding-rule/${ID}`, { ...rule, ID: randomUUID() })).toEqual([
      400,
      'ACL binding rule ID does not match request path',
    ]);
    const changed = await ask<Rule>('POST', `binding-rule/${ID}`, { BindType: 'management' });
    expect(changed.body).toMatchObject({ ID, BindType: 'management', BindName: '', Selector: '' });
    const { body: list } = await ask<Rule[]>('GET', `binding-rules?prefix=${ID.slice(0, 13)}`);
    expect(list).toMatchObject([{ ID, Description: '', AuthMethod: 'bound', ModifyIndex: changed.index }]);
    expect(list[0]).not.toHaveProperty('Selector');
    const filter = encodeURIComponent('BindType == "management" and AuthMethod == "bound"');
    expect((await ask<Rule[]>('GET', `binding-rules?filter=${filter}`)).body.map((one) => one.ID)).toEqual([ID]);
    expect(await refusal('GET', 'binding-rule/')).toEqual([400, 'missing ACL binding rule ID']);
    expect(await refusal('DELETE', `binding-rule/${ID}`)).toEqual([200, '']);
    expect(await refusal('DELETE', `binding-rule/${ID}`)).toEqual([500, 'ACL binding rule not found']);
    expect(await refusal('GET', `binding-rule/${ID}`)).toEqual([404, 'ACL binding rule not found']);
  });

  it('AU-23: rules outlive their method, unless they are to go with it', async () => {
    const rule = { AuthMethod: 'bound', BindType: 'policy', BindName: 'readers' };
    const rules = async () =>
      (await ask<{ AuthMethod: string }[]>('GET', 'binding-rules')).body.filter((one) => one.AuthMethod === 'bound');
    await ask('PUT', 'binding-rule', rule);
    await ask('DELETE', 'auth-method/bound');
    expect(await rules()).toHaveLength(1);
    await ask('PUT', 'auth-method', jwt('bound'));
    expect(await refusal('DELETE', 'auth-method/bound?rules=true')).toEqual([200, '']);
    expect(await rules()).toEqual([]);
  });
});

describe('the command line', () => {
  const run = (...words: string[]) =>
    runCli(cluster.waybill.api.url, ['acl', ...words], { NOMAD_TOKEN: cluster.management });
  async function prints(...words: string[]): Promise<string> {
    const { code, out, err } = await run(...words);
    expect({ words, code, err }).toEqual({ words, code: 0, err: '' });
    return out;
  }

  it('AU-295 to AU-298: makes, shows, changes and deletes an auth method, and keeps its secret', async () => {
    const { Config } = oidc('cli');
    const made = await prints(
      'auth-method',
      'create',
      '-name=cli',
      '-type=oidc',
      '-token-locality=global',
      '-max-token-ttl=1h',
      `-config=${JSON.stringify(Config)}`,
    );
    expect(made).toMatch(/^Name += cli\n/);
    expect(made).toMatch(/Modify Index += \d+\n\nAuth Method Config\n\nJWT Validation Public Keys/);
    expect(made).toMatch(/OIDC Client Secret += redacted\n/);
    const changed = await prints('auth-method', 'update', '-max-token-ttl=2h', '-json', 'cli');
    expect(JSON.parse(changed)).toMatchObject({ Type: 'OIDC', MaxTokenTTL: '2h0m0s' });
    // HS512 needs a secret of 64 bytes: the one that was kept has them, the word has not.
    const longer = {
      ...Config,
      OIDCClientSecret: 'redacted',
      OIDCClientAssertion: { KeySource: 'client_secret', KeyAlgorithm: 'HS512' },
    };
    await prints('auth-method', 'update', `-config=${JSON.stringify(longer)}`, 'cli');
    expect(await prints('auth-method', 'info', 'cli')).toMatch(/OIDC Client Assertion Algorithm += HS512\n/);
    expect(await prints('auth-method', 'list')).toMatch(/^Name +Type +Default\n[^]*\ncli +OIDC +false\n/);
    expect(await prints('auth-method', 'delete', 'cli')).toBe('ACL auth method cli successfully deleted\n');
    expect((await run('auth-method', 'info', 'cli')).err).toContain('Error reading ACL auth method: ');
    expect((await run('auth-method', 'update', 'cli')).err).toContain('Please provide at least one flag');
    expect((await run('auth-method', 'update', '-default', 'cli')).err).toContain(
      'Error when retrieving ACL auth method: ',
    );
  });

  it('AU-299, AU-300: makes a rule, takes a prefix of its ID, changes and deletes it', async () => {
    await ask('PUT', 'auth-method', jwt('ruled'));
    expect(await prints('binding-rule', 'list')).toBe('No ACL binding rules found\n');
    const made = await prints(
      'binding-rule',
      'create',
      '-auth-method=ruled',
      '-bind-type=role',
      '-bind-name=ops',
      '-description=ops',
      '-selector=value.team == "ops"',
    );
    const [, id = ''] = /^ID += (\S+)/.exec(made) ?? [];
    expect(made).toContain('= "value.team == \\"ops\\""');
    const changed = await prints('binding-rule', 'update', '-bind-type=management', id.slice(0, 8));
    expect(changed).toMatch(/Selector +=/);
    expect(changed).toMatch(/Bind Name += <none>/);
    expect(await prints('binding-rule', 'list')).toContain(`${id}  ops          ruled\n`);
    await prints('binding-rule', 'update', '-no-merge', '-bind-type=policy', '-bind-name=readers', id);
    expect(await prints('binding-rule', 'info', '-json', id)).toContain('"Selector": ""');
    expect(await prints('binding-rule', 'delete', id.slice(0, 13))).toBe(
      `ACL binding rule ${id} successfully deleted\n`,
    );
    expect((await run('binding-rule', 'delete', id)).err).toContain('Error deleting ACL binding rule: ');
  });
});

it('AU-25, AU-27: events of both, to management only, without any secret', async () => {
  const stream = '/v1/event/stream?index=1&topic=ACLAuthMethod&topic=ACLBindingRule';
  const reader = await EventReader.open(`${cluster.waybill.api.url}${stream}`, cluster.management);
  const seen = new Set<string>();
  await reader.until((lines) => {
    for (const { Events } of lines) for (const { Type } of Events) seen.add(Type);
    return seen.size === 4;
  });
  reader.close();
  const text = reader.texts.join('\n');
  expect(text).toContain('"OIDCClientSecret":"redacted"');
  for (const secret of secrets) expect(text).not.toContain(secret);
  expect(await cluster.statusOf('GET', stream, await cluster.tokenWith('namespace "*" { policy = "write" }'))).toBe(
    403,
  );
});

it('AU-24: no client secret is in the files of NATS or PostgreSQL, in a log line, in the archive or in the metrics', async () => {
  const archive = await cluster.waybill.api.raw('/v1/operator/snapshot', {
    headers: { 'X-Nomad-Token': cluster.management },
  });
  const { unpackArchive } = await import('@waybill/model/snapshot-archive');
  const { state } = await unpackArchive(Buffer.from(await archive.arrayBuffer()));
  expect(state.includes('https://login.example.org')).toBe(true);
  const contents = filesBelow(cluster.waybill.dir).map((file) => readFileSync(file));
  // What is stored in clear is found, so a secret would be.
  expect(contents.filter((content) => content.includes('https://login.example.org')).length).toBeGreaterThan(1);
  expect(secrets.length).toBeGreaterThan(2);
  for (const secret of secrets) {
    expect(contents.some((content) => content.includes(secret))).toBe(false);
    expect(state.includes(secret)).toBe(false);
  }
  for (const url of ['/v1/waybill/log?per_page=1000&diff=true', '/v1/metrics']) {
    const text = await (await cluster.send('GET', url, cluster.management)).text();
    for (const secret of secrets) expect(text, url).not.toContain(secret);
  }
  expect(await (await cluster.send('GET', '/v1/metrics', cluster.management)).text()).toContain(
    'nomad.acl.upsert_auth_methods',
  );
});

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => statSync(file).size > 0);
}
