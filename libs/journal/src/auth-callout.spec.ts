import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nkeys } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuthRequestError, ConnectionIssuer, issuerKey, readConnectRequest } from './auth-callout.js';

type Key = ReturnType<typeof nkeys.createUser>;
const server = nkeys.createServer();
const client = nkeys.createUser();
const NAMED = nkeys.createUser().getPublicKey();

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
interface Claims {
  readonly sub: string;
  readonly aud: string;
  readonly iss: string;
  readonly iat: number;
  readonly exp?: number;
  readonly nats: Readonly<Record<string, unknown>>;
}
const decoded = (text = ''): Claims => JSON.parse(Buffer.from(text, 'base64url').toString()) as Claims;

function signed(claims: object, by: Key): string {
  const text = `${encoded({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encoded(claims)}`;
  return `${text}.${Buffer.from(by.sign(bytes(text))).toString('base64url')}`;
}

const claimsOf = (over: { by?: Key; nonce?: string; options?: object } = {}) => ({
  iss: server.getPublicKey(),
  aud: 'nats-authorization-request',
  nats: {
    server_id: { id: server.getPublicKey() },
    user_nkey: NAMED,
    client_info: { host: '10.0.0.9', nonce: 'n1' },
    connect_opts: {
      nkey: client.getPublicKey(),
      sig: Buffer.from((over.by ?? client).sign(bytes(over.nonce ?? 'n1'))).toString('base64'),
      auth_token: 'proof',
      ...over.options,
    },
  },
});

describe('a question of nats-server about a connection', () => {
  it('AU-264: names the key that the client has proved to have, and its proof', () => {
    expect(readConnectRequest(signed(claimsOf(), server))).toEqual({
      serverId: server.getPublicKey(),
      userKey: NAMED,
      clientKey: client.getPublicKey(),
      token: 'proof',
      host: '10.0.0.9',
    });
  });

  it.each([
    ['of a client that names the key of another one', signed(claimsOf({ by: nkeys.createUser() }), server)],
    ['of a client that repeats the signature of another nonce', signed(claimsOf({ nonce: 'n0' }), server)],
    ['of a client without a signature', signed(claimsOf({ options: { sig: '' } }), server)],
    ['of a client without a key', signed(claimsOf({ options: { nkey: undefined } }), server)],
    ['of a client with a damaged key', signed(claimsOf({ options: { nkey: `U${'A'.repeat(55)}` } }), server)],
    ['that another server has signed', signed(claimsOf(), nkeys.createServer())],
    ['that nobody has signed', signed(claimsOf(), server).replace(/\.[^.]*$/, '.')],
    ['with a fourth part', `${signed(claimsOf(), server)}.x`],
    ['that is no JWT', 'hello'],
  ])('AU-264: %s is refused', (_what, text) => {
    expect(() => readConnectRequest(text)).toThrow(AuthRequestError);
  });

  it('AU-264: can be answered if the server has signed it, so that a client without a key does not wait', () => {
    const whom = (text: string): unknown => {
      try {
        return readConnectRequest(text);
      } catch (error) {
        return (error as AuthRequestError).questioned;
      }
    };
    const questioned = { serverId: server.getPublicKey(), userKey: NAMED };
    expect(whom(signed(claimsOf({ by: nkeys.createUser() }), server))).toEqual(questioned);
    expect(whom(signed(claimsOf(), nkeys.createServer()))).toBeUndefined();
  });
});

describe('the answer to nats-server', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'waybill-issuer-'));
    file = path.join(dir, 'issuer.seed');
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const request = readConnectRequest(signed(claimsOf(), server));
  const permissions = {
    publish: { allow: ['a'] },
    subscribe: { allow: ['b'] },
    allow_responses: { max: 1, expires: '15m' },
  };

  it('AU-264: admits with these permissions until then, signed by the issuer', async () => {
    const key = await issuerKey(file);
    const issuer = await ConnectionIssuer.read(file);
    const user = { name: 'm', account: 'WAYBILL', permissions, expiresS: 2_000 };
    const [head, body, signature] = issuer.admit(request, user, 1_000).split('.');
    const isSigned = nkeys.fromPublic(key).verify(bytes(`${head}.${body}`), Buffer.from(signature ?? '', 'base64url'));
    const answer = decoded(body);
    const inner = decoded(String(answer.nats['jwt']).split('.')[1]);
    expect([isSigned, answer.sub, answer.aud, answer.iss]).toEqual([true, NAMED, server.getPublicKey(), key]);
    expect([inner.sub, inner.aud, inner.iss, inner.iat, inner.exp]).toEqual([NAMED, 'WAYBILL', key, 1_000, 2_000]);
    expect(['pub', 'sub', 'resp'].map((member) => inner.nats[member])).toEqual([
      { allow: ['a'] },
      { allow: ['b'] },
      { max: 1, ttl: 900_000_000_000 },
    ]);
  });

  it('AU-264: refuses with a reason and without a user', async () => {
    await issuerKey(file);
    const { nats } = decoded((await ConnectionIssuer.read(file)).refuse(request, 'why', 1).split('.')[1]);
    expect(nats).toEqual({ type: 'authorization_response', version: 2, error: 'why' });
  });

  it('is signed with a key that is made once, for the owner only', async () => {
    const key = await issuerKey(file);
    expect([key, (await stat(file)).mode & 0o777]).toEqual([await issuerKey(file), 0o600]);
    expect(key).toMatch(/^A[A-Z2-7]{55}$/);
  });

  it.each([
    ['nothing', '', 'there is no seed of an account'],
    ['the seed of a user', new TextDecoder().decode(client.getSeed()), 'there is no seed of an account'],
    ['a damaged seed', `SA${'A'.repeat(56)}`, 'its seed is damaged'],
  ])('is not signed with %s, which no error shows', async (_what, text, why) => {
    await writeFile(file, text);
    const error = await ConnectionIssuer.read(file).catch((e: unknown) => e);
    expect(String(error)).toContain(why);
    if (text !== '') expect(String(error)).not.toContain(text);
  });
});
