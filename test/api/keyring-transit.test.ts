import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KeyServiceError, TokenRenewal, tokenOverHttp, transitOverHttp, TransitWrapper } from '@waybill/keyring';
import { FakeTime } from '@waybill/model';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TestAuthority } from '../support/certificates.js';
import { TransitEngine } from '../support/transit-engine.js';
import { VaultServer } from '../support/vault-server.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let authority: TestAuthority;
let engine: TransitEngine;
let tokenFile: string;

beforeAll(async () => {
  authority = await TestAuthority.create();
  engine = await TransitEngine.start(await authority.issue(), 'team-a');
  tokenFile = path.join(authority.directory, 'token');
  await writeFile(tokenFile, `${engine.token}\n`);
});
afterAll(async () => {
  await engine?.stop();
  await authority?.remove();
});
afterEach(() => (engine.mood = 'well'));

/** No pause between attempts, and a short time for each. */
const wrapperOf = (over: { caFile?: string; mount?: string; namespace?: string } = {}): TransitWrapper => {
  const { caFile = authority.caFile, mount = 'transit', namespace = 'team-a' } = over;
  const token = async (): Promise<string> => (await readFile(tokenFile, 'utf8')).trim();
  const at = { url: new URL(engine.url), mount, key: 'waybill', namespace, token };
  const call = async (operation: 'encrypt' | 'decrypt', body: Record<string, string>) => {
    const authorities = caFile === '' ? [] : [await readFile(caFile, 'utf8')];
    return transitOverHttp({ ...at, authorities }, 500)(operation, body);
  };
  return new TransitWrapper({ call, nowMs: () => Date.now(), pause: () => Promise.resolve() });
};

describe('a transit engine', () => {
  it('OP-210: wraps for one root key, and unwraps after its own key was rotated', async () => {
    const wrapped = await wrapperOf().wrap('one', 'the private parts, with €');
    expect(wrapped).toEqual({ Provider: 'transit', Data: expect.stringMatching(/^vault:v1:/) });
    expect(Buffer.from(wrapped.Data.slice('vault:v1:'.length), 'base64').toString()).not.toContain('private');
    engine.rotate();
    expect((await wrapperOf().wrap('one', 'new')).Data).toMatch(/^vault:v2:/);
    expect(await wrapperOf().unwrap('one', wrapped)).toBe('the private parts, with €');
    const foreign = wrapperOf().unwrap('two', wrapped);
    await expect(foreign).rejects.toThrow('answered 400 to decrypt: cipher: message authentication failed');
    await expect(foreign).rejects.not.toBeInstanceOf(KeyServiceError);
  });

  it.each([
    ['sealed', 'answered 503 to encrypt: Vault is sealed', 3],
    ['silent', 'cannot be reached (no answer within 500 ms)', 3],
    ['endless', 'cannot be reached (the body is longer than 65536 bytes)', 3],
    ['moved', 'answered 307 to encrypt', 1],
    ['foolish', 'does not give back what it encrypted', 2],
  ] as const)('that is %s says so in one line, after a limited number of requests', async (mood, text, requests) => {
    engine.mood = mood;
    const before = engine.requests;
    const wrapping = wrapperOf().wrap('one', 'secret');
    await expect(wrapping).rejects.toThrow(KeyServiceError);
    await expect(wrapping).rejects.toThrow(text);
    expect(engine.requests - before).toBe(requests);
  });

  it('a wrong namespace, mount, token or authority is named, and no address or token with it', async () => {
    const failures = [
      [wrapperOf({ namespace: '' }), 'answered 403 to encrypt: permission denied'],
      [
        wrapperOf({ mount: 'else/where' }),
        'answered 404 to encrypt: no handler for route "else/where/encrypt/waybill"',
      ],
      [wrapperOf({ caFile: '' }), 'cannot be reached (UNABLE_TO_VERIFY_LEAF_SIGNATURE)'],
    ] as const;
    for (const [wrapper, text] of failures) await expect(wrapper.wrap('one', 'secret')).rejects.toThrow(text);
    engine.token = 'hvs.renewed';
    const late = await wrapperOf()
      .wrap('one', 'secret')
      .catch((error: Error) => error.message);
    expect(late).toContain('answered 403 to encrypt: 1 error occurred: * permission denied');
    expect(late).not.toMatch(/hvs|localhost/);
    await writeFile(tokenFile, engine.token);
    expect((await wrapperOf().wrap('one', 'secret')).Provider).toBe('transit');
  });
});

const VAULT = process.env['VAULT_BIN'];

describe.skipIf(!VAULT)('a real Vault (needs VAULT_BIN)', () => {
  let vault: VaultServer;
  let plain: string;

  beforeAll(async () => {
    vault = await VaultServer.start(VAULT ?? '');
    await vault.asked('POST', 'sys/mounts/transit', { type: 'transit' });
    await vault.asked('POST', 'transit/keys/waybill', { type: 'aes256-gcm96' });
    const rules = ['encrypt', 'decrypt'].map((one) => `path "transit/${one}/waybill" { capabilities = ["update"] }`);
    await vault.asked('PUT', 'sys/policies/acl/waybill', { policy: rules.join('\n') });
    plain = await vault.token(['waybill'], { ttl: '1h' });
  });
  afterAll(() => vault?.stop());

  const addressOf = (token: string) => ({
    url: new URL(vault.url),
    mount: 'transit',
    key: 'waybill',
    namespace: '',
    authorities: [],
    token: () => Promise.resolve(token),
  });
  const wrapperWith = (token = plain): TransitWrapper =>
    new TransitWrapper({
      call: transitOverHttp(addressOf(token)),
      nowMs: () => Date.now(),
      pause: () => Promise.resolve(),
    });

  it('OP-210: wraps for one root key, and unwraps for no other', async () => {
    const wrapped = await wrapperWith().wrap('one', 'the private parts, with €');
    expect(wrapped.Data).toMatch(/^vault:v\d+:/);
    expect(await wrapperWith().unwrap('one', wrapped)).toBe('the private parts, with €');
    const foreign = wrapperWith().unwrap('two', wrapped);
    await expect(foreign).rejects.toThrow(/answered 400 to decrypt: .*message authentication failed/);
    await expect(foreign).rejects.not.toBeInstanceOf(KeyServiceError);
    await expect(wrapperWith().unwrap('one', { ...wrapped, Data: 'vault:v1:AAAA' })).rejects.toThrow('answered 400');
  });

  it('OP-210: what an older version of its key wrapped is outdated, and stays readable', async () => {
    const wrapper = wrapperWith();
    const wrapped = await wrapper.wrap('one', 'secret');
    expect(wrapper.isOutdated(wrapped)).toBe(false);
    await vault.asked('POST', 'transit/keys/waybill/rotate');
    expect(wrapper.isOutdated(wrapped)).toBe(false);
    await wrapper.refresh();
    expect(wrapper.isOutdated(wrapped)).toBe(true);
    const anew = await wrapper.wrap('one', await wrapper.unwrap('one', wrapped));
    expect(wrapper.isOutdated(anew)).toBe(false);
    const version = Number(/^vault:v(\d+):/.exec(anew.Data)?.[1]);
    await vault.asked('POST', 'transit/keys/waybill/config', { min_decryption_version: version });
    await expect(wrapperWith().unwrap('one', wrapped)).rejects.toThrow('answered 400 to decrypt');
    expect(await wrapperWith().unwrap('one', anew)).toBe('secret');
  });

  it('a token without the right and a revoked one are named, and no error contains the token', async () => {
    const blind = await vault.token(['default'], { ttl: '1h' });
    const gone = await vault.token(['waybill'], { ttl: '1h' });
    await vault.asked('POST', 'auth/token/revoke', { token: gone });
    for (const token of [blind, gone]) {
      const said = await wrapperWith(token)
        .wrap('one', 'secret')
        .catch((error: Error) => error.message);
      expect(said).toMatch(/answered 403 to encrypt: .*permission denied/);
      expect(said).not.toContain(token);
    }
  });

  /** The renewal of a token, whose timer the test lets run out. */
  async function renewalOf(token: string) {
    const time = new FakeTime();
    const logged: string[] = [];
    const log = (message: string): void => void logged.push(message);
    const { token: read, ...address } = addressOf(token);
    const call = tokenOverHttp(address);
    const renewal = new TokenRenewal({ token: read, call, timers: time, logger: { info: log, warn: log } });
    await renewal.start();
    const leftS = async (): Promise<number> => {
      const { data } = await vault.asked<{ data: { ttl: number } }>('GET', 'auth/token/lookup-self', undefined, token);
      return data.ttl;
    };
    return { time, logged, renewal, leftS };
  }

  it('OP-210: a plain token is renewed by its own policy', async () => {
    const token = await vault.token(['waybill'], { ttl: '100s' });
    // The renewal gives the time that the token had at first, so a look a second later shows whether it came.
    const { time, logged, renewal, leftS } = await renewalOf(token);
    await eventually('time has passed', async () => (await leftS()) < 99);
    await time.pass(50_000);
    await eventually('it is renewed', async () => (await leftS()) >= 99);
    expect(logged).toEqual(['the token of the key management service is renewed']);
    renewal.stop();
  });

  it('a token that cannot be renewed, one at the end of its longest life and a root token are told apart', async () => {
    const [batch, longest, root] = await Promise.all([
      renewalOf(await vault.token(['waybill'], { ttl: '1h', renewable: false })),
      renewalOf(await vault.token(['waybill'], { ttl: '1h', explicit_max_ttl: '1h' })),
      renewalOf('of-tests'),
    ]);
    expect(batch.logged).toEqual([
      'the token of the key management service expires and cannot be renewed; replace it in time',
    ]);
    expect(root.logged).toEqual([]);
    await eventually('time has passed', async () => (await longest.leftS()) < 3_598);
    await longest.time.pass(1_800_000);
    await eventually('its end is told', () => longest.logged.length === 2);
    expect(longest.logged[1]).toContain('reaches its longest life');
    for (const { renewal } of [batch, longest, root]) renewal.stop();
  });
});

describe('a cluster', () => {
  const file = { WAYBILL_KEYRING_KEY: randomBytes(32).toString('hex') };
  const transit = () => ({
    WAYBILL_KEYRING_TRANSIT_URL: engine.url,
    WAYBILL_KEYRING_TRANSIT_NAMESPACE: 'team-a',
    WAYBILL_KEYRING_TRANSIT_TOKEN_FILE: tokenFile,
    WAYBILL_KEYRING_TRANSIT_CA_FILE: authority.caFile,
  });
  const MOVING = ['broker', 'api'] as const;
  let waybill: WaybillProcesses;

  beforeAll(async () => {
    waybill = await WaybillProcesses.start({}, ['projector']);
    await Promise.all(MOVING.map((name) => waybill.startService(name, name, file)));
  });
  afterAll(() => waybill?.stop());

  async function restartWith(settings: NodeJS.ProcessEnv): Promise<void> {
    await Promise.all(MOVING.map((name) => waybill.kill(name, 'SIGTERM')));
    await Promise.all(MOVING.map((name) => waybill.startService(name, name, settings)));
  }
  const providers = async (): Promise<string[]> => (await wrappedKeys()).map((wrapped) => wrapped.split(' ')[0] ?? '');
  async function wrappedKeys(): Promise<string[]> {
    const client = new pg.Client(waybill.stack.databaseUrl);
    await client.connect();
    try {
      const { rows } = await client.query<{ body: string }>('select body from root_keys');
      return rows.map(({ body }) => {
        const { Wrapped } = JSON.parse(body) as { Wrapped: { Provider: string; Data: string } };
        return `${Wrapped.Provider} ${Wrapped.Data}`;
      });
    } finally {
      await client.end();
    }
  }
  const variable = async (): Promise<string> => {
    const answer = await waybill.api.raw('/v1/var/app/db');
    return `${answer.status} ${await answer.text()}`;
  };
  const published = async (): Promise<number> =>
    (await waybill.api.get<{ keys: unknown[] }>('/.well-known/jwks.json')).keys.length;

  it('OP-206, OP-210, OP-216: moves to a transit engine and back, goes on where it can while that is sealed, follows its key', async () => {
    const body = JSON.stringify({ Items: { password: 'of the database' } });
    await eventually('a variable is written', async () => {
      return (await waybill.api.raw('/v1/var/app/db', { method: 'PUT', body })).status === 200;
    });
    await restartWith({ ...file, ...transit(), WAYBILL_KEYRING_WRAPPER: 'transit' });
    await eventually('the root key is wrapped by the engine', async () => (await providers()).join() === 'transit');

    engine.mood = 'sealed';
    await restartWith(transit());
    expect(await variable()).toMatch(
      /^500 root key .* cannot be unwrapped: .* answered 503 to decrypt: Vault is sealed$/,
    );
    expect(await published()).toBe(1);
    engine.mood = 'well';
    await eventually('the key is unwrapped', async () => (await variable()).includes('of the database'));
    engine.mood = 'sealed';
    expect(await variable()).toContain('of the database');

    engine.mood = 'well';
    engine.rotate();
    engine.life = { leftS: 2, ttlS: 3_600, renewable: true };
    await restartWith(transit());
    await eventually('the root key is wrapped by the new version', async () =>
      (await wrappedKeys()).every((wrapped) => wrapped.startsWith(`transit vault:v${engine.version}:`)),
    );
    await eventually('both services have renewed their token', () => engine.renewals === MOVING.length);
    expect(await variable()).toContain('of the database');

    await restartWith({ ...file, ...transit(), WAYBILL_KEYRING_WRAPPER: 'aead' });
    await eventually('the root key is wrapped by the file', async () => (await providers()).join() === 'aead');
    await restartWith(file);
    expect(await variable()).toContain('of the database');
  }, 120_000);
});
