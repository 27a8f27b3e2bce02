import { FakeTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { Consul } from './consul.js';
import { lookAtConsul, lookAtVault } from './server-looks.js';
import {
  type CallServer,
  jsonOf,
  type ServerAnswer,
  ServerAwayError,
  type ServerCall,
  ServerRefusedError,
} from './server-call.js';
import { Vault } from './vault.js';

const time = new FakeTime();

/** Answers every request in the same way, and lists them. */
function answering(body: unknown, status = 200) {
  const calls: ServerCall[] = [];
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const call: CallServer = async (given) => {
    calls.push(given);
    return { status, text, index: 0 };
  };
  return { calls, call };
}

const vaultAt = (call: CallServer, over = {}) =>
  new Vault({ call, authPath: 'jwt-nomad', role: '', namespace: '', ...over });
const consulAt = (call: CallServer, over = {}) =>
  new Consul({
    call,
    clock: time,
    authMethod: 'nomad-workloads',
    namespace: '',
    partition: '',
    requestedBy: 'r',
    ...over,
  });

const AUTH = { auth: { client_token: 'hvs.x', lease_duration: 90, renewable: true } };

describe('Vault on the wire', () => {
  it('AU-165: a login sends the token of the identity, and the role and namespace if there are any', async () => {
    const { call, calls } = answering(AUTH);
    expect(await vaultAt(call).login('jwt')).toEqual({ token: 'hvs.x', validMs: 90_000, renewable: true });
    await vaultAt(call, { authPath: 'team/jwt', role: 'reader', namespace: 'ns' }).login('jwt');
    expect(calls).toEqual([
      {
        method: 'POST',
        path: '/v1/auth/jwt-nomad/login',
        headers: { 'x-vault-request': 'true' },
        body: { jwt: 'jwt' },
      },
      {
        method: 'POST',
        path: '/v1/auth/team/jwt/login',
        headers: { 'x-vault-request': 'true', 'x-vault-namespace': 'ns' },
        body: { jwt: 'jwt', role: 'reader' },
      },
    ]);
  });

  it('AU-167, AU-168: renewal, question and end name the token in their header', async () => {
    const { call, calls } = answering({ auth: { ...AUTH.auth, lease_duration: 0, renewable: false } });
    const vault = vaultAt(call);
    expect(await vault.renew('t')).toEqual({ token: 'hvs.x', validMs: null, renewable: false });
    expect(await vault.accepts('t')).toBe(true);
    await vault.end('t');
    expect(calls.map(({ method, path, headers }) => [method, path, headers?.['x-vault-token']])).toEqual([
      ['POST', '/v1/auth/token/renew-self', 't'],
      ['GET', '/v1/auth/token/lookup-self', 't'],
      ['POST', '/v1/auth/token/revoke-self', 't'],
    ]);
    expect(await vaultAt(answering({ errors: [] }, 403).call).accepts('t')).toBe(false);
    await expect(vaultAt(answering('', 503).call).accepts('t')).rejects.toBeInstanceOf(ServerAwayError);
  });

  it('AU-165: an answer without a token is refused', async () => {
    for (const body of [{}, { auth: null }, { auth: { client_token: 7 } }, '', '[]'])
      await expect(vaultAt(answering(body).call).login('jwt')).rejects.toThrow('Vault answered without a token');
  });

  it('AU-164: its version, and that it is there, are attributes of the machine unless it is sealed', async () => {
    const status = { sealed: false, version: '1.14.1', cluster_id: 'id', cluster_name: 'name' };
    expect(await lookAtVault(answering(status).call, 'default')).toEqual({
      'vault.accessible': 'true',
      'vault.version': '1.14.1',
      'vault.cluster_id': 'id',
      'vault.cluster_name': 'name',
    });
    expect(await lookAtVault(answering({ sealed: false, version: '1.0.0' }).call, 'team')).toEqual({
      'vault.team.accessible': 'true',
      'vault.team.version': '1.0.0',
    });
    expect(await lookAtVault(answering({ ...status, cluster_name: 'n'.repeat(257) }).call, 'default')).toEqual({
      'vault.accessible': 'true',
      'vault.version': '1.14.1',
      'vault.cluster_id': 'id',
    });
    await expect(lookAtVault(answering({ ...status, sealed: true }).call, 'default')).rejects.toThrow('sealed');
    await expect(lookAtVault(answering({}).call, 'default')).rejects.toThrow('sealed');
  });
});

describe('Consul on the wire', () => {
  it('AU-165: a login names the auth method and the task, and its answer the end of the token', async () => {
    const ExpirationTime = new Date(time.nowMs() + 60_000).toISOString();
    const { call, calls } = answering({ SecretID: 's', ExpirationTime });
    expect(await consulAt(call).login('jwt')).toEqual({ token: 's', validMs: 60_000, renewable: false });
    await consulAt(call, { namespace: 'n&s', partition: 'p' }).login('jwt');
    const body = { AuthMethod: 'nomad-workloads', BearerToken: 'jwt', Meta: { requested_by: 'r' } };
    expect(calls).toEqual([
      { method: 'POST', path: '/v1/acl/login', body },
      { method: 'POST', path: '/v1/acl/login?ns=n%26s&partition=p', body },
    ]);
    const endless = { SecretID: 's', ExpirationTime: '0001-01-01T00:00:00Z' };
    for (const answer of [{ SecretID: 's' }, endless])
      expect((await consulAt(answering(answer).call).login('jwt')).validMs).toBeNull();
    await expect(consulAt(answering({}).call).login('jwt')).rejects.toThrow('Consul answered without a token');
  });

  it('AU-167, AU-168: question and logout name the token in their header', async () => {
    const { call, calls } = answering('true');
    const consul = consulAt(call);
    expect(await consul.accepts('t')).toBe(true);
    await consul.end('t');
    expect(calls).toEqual([
      { method: 'GET', path: '/v1/acl/token/self', headers: { 'x-consul-token': 't' } },
      { method: 'POST', path: '/v1/acl/logout', headers: { 'x-consul-token': 't' } },
    ]);
    expect(await consulAt(answering('ACL not found', 403).call).accepts('t')).toBe(false);
  });

  it('AU-164: its agent is described by attributes of the machine', async () => {
    const Config = { Version: '1.16.1', Revision: 'r', Datacenter: 'dc1', Server: false, NodeName: 'n' };
    const { call, calls } = answering({ Config });
    expect(await lookAtConsul(call, 'default', 'own')).toEqual({
      'consul.version': '1.16.1',
      'consul.revision': 'r',
      'consul.datacenter': 'dc1',
      'consul.server': 'false',
      'unique.consul.name': 'n',
    });
    expect(calls[0]?.headers).toEqual({ 'x-consul-token': 'own' });
    expect(await lookAtConsul(answering({ Config: { Version: '1.0.0' } }).call, 'team', '')).toEqual({
      'consul.team.version': '1.0.0',
    });
  });
});

describe('answers', () => {
  const answer = (status: number, text: string): ServerAnswer => ({ status, text, index: 0 });

  it('AU-165: those of an overloaded or broken server are worth another attempt, refusals are not', () => {
    for (const status of [412, 429, 500, 502, 503])
      expect(() => jsonOf(answer(status, ''), 'Vault')).toThrow(ServerAwayError);
    for (const status of [400, 403, 404, 405])
      expect(() => jsonOf(answer(status, ''), 'Vault')).toThrow(ServerRefusedError);
    expect(() => jsonOf(answer(200, '<html>'), 'Vault')).toThrow(ServerAwayError);
    expect(jsonOf(answer(204, ''), 'Vault')).toBeNull();
  });

  it("AU-165: errors repeat the server's reason on one line of bounded length", () => {
    const errors = { errors: ['role "x"', 'not\nfound'] };
    expect(() => jsonOf(answer(400, JSON.stringify(errors)), 'Vault')).toThrow(
      'Vault answered 400: role "x", not found',
    );
    expect(() => jsonOf(answer(403, 'ACL not\r\n found \u0007'), 'Consul')).toThrow(
      /^Consul answered 403: ACL not found$/,
    );
    expect(() => jsonOf(answer(400, 'x'.repeat(9_000)), 'Consul')).toThrow(/^Consul answered 400: x{300}…$/);
  });
});
