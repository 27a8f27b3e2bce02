import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KeyServiceError, transitOverHttp, TransitWrapper } from '@waybill/keyring';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TestAuthority } from '../support/certificates.js';
import { TransitEngine } from '../support/transit-engine.js';
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
  async function providers(): Promise<string[]> {
    const client = new pg.Client(waybill.stack.databaseUrl);
    await client.connect();
    try {
      const { rows } = await client.query<{ body: string }>('select body from root_keys');
      return rows.map(({ body }) => (JSON.parse(body) as { Wrapped: { Provider: string } }).Wrapped.Provider);
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

  it('OP-206, OP-210, OP-216: moves to a transit engine and back, and goes on where it can while that is sealed', async () => {
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
    await restartWith({ ...file, ...transit(), WAYBILL_KEYRING_WRAPPER: 'aead' });
    await eventually('the root key is wrapped by the file', async () => (await providers()).join() === 'aead');
    await restartWith(file);
    expect(await variable()).toContain('of the database');
  });
});
