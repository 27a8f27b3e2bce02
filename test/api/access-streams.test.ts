import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { EventReader } from '../support/event-reader.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface Token {
  readonly AccessorID: string;
  readonly SecretID: string;
}

let waybill: WaybillProcesses;
let dir: string;
let management = '';

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-acl-'));
  const keyFile = path.join(dir, 'key');
  writeFileSync(keyFile, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  const env = {
    WAYBILL_ACL_ENABLED: 'true',
    WAYBILL_ACL_KEY_FILE: keyFile,
    WAYBILL_ACL_TOKEN_MIN_EXPIRATION_TTL: '1s',
  };
  waybill = await WaybillProcesses.startTogether(env, ['projector', 'broker', 'scheduler', 'api']);
  management = (await asked<Token>('PUT', '/v1/acl/bootstrap')).SecretID;
  await asked('PUT', '/v1/namespace', { Name: 'team' });
});

afterAll(async () => {
  await waybill?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function asked<T>(method: string, url: string, body?: unknown): Promise<T> {
  const answer = await waybill.api.raw(url, {
    method,
    ...(management !== '' && { headers: { 'X-Nomad-Token': management } }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

const policy = (name: string, rules: string): Promise<void> =>
  asked('PUT', `/v1/acl/policy/${name}`, { Name: name, Rules: rules });
const token = (name: string, policies: string[], ttl = ''): Promise<Token> =>
  asked('PUT', '/v1/acl/token', { Name: name, Type: 'client', Policies: policies, ExpirationTTL: ttl });
const stream = (query: string, secret: string): Promise<EventReader> =>
  EventReader.open(`${waybill.api.url}/v1/event/stream?${query}`, secret);
const register = (id: string, Namespace = 'default') =>
  asked<{ Index: number }>('PUT', '/v1/jobs', { Job: { ...shellJob(id, 'true'), Namespace } });

const READ = 'namespace "default" { policy = "read" }';

describe('event streams with access control', () => {
  it('EV-41 EV-42: one topic or namespace without the right refuses the whole stream', async () => {
    await policy('reads-default', READ);
    const { SecretID } = await token('reader', ['reads-default']);
    for (const query of ['topic=Job&topic=Node', 'topic=Job&namespace=team', 'topic=Job&namespace=*', 'topic=*:*', ''])
      await expect(stream(query, SecretID), query).rejects.toThrow('403 Permission denied');
    await expect(stream('topic=Job', '')).rejects.toThrow('403 Permission denied');
    (await stream('topic=Job', SecretID)).close();
  });

  it('EV-44: a stream of all namespaces goes on with one that is made later, and hides one that is denied', async () => {
    await policy('reads-all', 'namespace "*" { policy = "read" }\nnamespace "hidden" { policy = "deny" }');
    const { SecretID } = await token('reader of all', ['reads-all']);
    const reader = await stream('topic=Job&namespace=*&index=1', SecretID);
    await asked('PUT', '/v1/namespace', { Name: 'hidden' });
    await asked('PUT', '/v1/namespace', { Name: 'later' });
    await register('secret', 'hidden');
    await register('shown', 'later');
    const lines = await reader.until((all) => all.some(({ Events }) => Events.some(({ Key }) => Key === 'shown')));
    expect(lines.flatMap(({ Events }) => Events.map(({ Key }) => Key))).not.toContain('secret');
    reader.close();
  });

  it('EV-46 EV-80: the stream ends when its token is deleted, and nothing comes behind that', async () => {
    const { AccessorID, SecretID } = await token('soon gone', ['reads-default']);
    const reader = await stream('topic=Job', SecretID);
    await register('before');
    await reader.until((all) => all.some(({ Events }) => Events.some(({ Key }) => Key === 'before')));
    await asked('DELETE', `/v1/acl/token/${AccessorID}`);
    await register('behind');
    expect(await reader.ended).toBe(true);
    expect(reader.texts.join('\n')).not.toContain('behind');
  });

  it('EV-46: it ends when its policy loses the right, and goes on without gap when it keeps it', async () => {
    await policy('changing', READ);
    const { SecretID } = await token('changing', ['changing']);
    const reader = await stream('topic=Job', SecretID);
    await policy('changing', `${READ}\nnode { policy = "read" }`);
    await register('still-seen');
    await reader.until((all) => all.some(({ Events }) => Events.some(({ Key }) => Key === 'still-seen')));
    await policy('changing', 'node { policy = "read" }');
    expect(await reader.ended).toBe(true);
  });

  it('EV-81: it ends at the expiry of its token, without an event', async () => {
    const { SecretID } = await token('short', ['reads-default'], '2s');
    const reader = await stream('topic=Job', SecretID);
    expect(await reader.ended).toBe(true);
    await expect(stream('topic=Job', SecretID)).rejects.toThrow('403 Permission denied');
  });

  it('OP-118: a new right counts for the next request, and a lost one too', async () => {
    await policy('growing', READ);
    const { SecretID } = await token('growing', ['growing']);
    const status = async () =>
      (await waybill.api.raw('/v1/jobs?namespace=team', { headers: { 'X-Nomad-Token': SecretID } })).status;
    expect(await status()).toBe(403);
    await policy('growing', 'namespace "team" { policy = "read" }');
    expect(await status()).toBe(200);
    await policy('growing', READ);
    expect(await status()).toBe(403);
  });
});
