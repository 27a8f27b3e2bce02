import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { shellJob } from '../support/api-client.js';
import { EventReader } from '../support/event-reader.js';

let cluster: AccessCluster;

beforeAll(async () => {
  cluster = await AccessCluster.start(['projector', 'broker', 'scheduler', 'api'], {
    WAYBILL_ACL_TOKEN_MIN_EXPIRATION_TTL: '1s',
  });
  await cluster.asked('PUT', '/v1/namespace', { Name: 'team' });
});

afterAll(async () => {
  await cluster?.stop();
});

const stream = (query: string, secret: string): Promise<EventReader> =>
  EventReader.open(`${cluster.waybill.api.url}/v1/event/stream?${query}`, secret);
const register = (id: string, Namespace = 'default') =>
  cluster.asked<{ Index: number }>('PUT', '/v1/jobs', { Job: { ...shellJob(id, 'true'), Namespace } });

const READ = 'namespace "default" { policy = "read" }';

describe('event streams with access control', () => {
  it('EV-41 EV-42: one topic or namespace without the right refuses the whole stream', async () => {
    await cluster.policy('reads-default', READ);
    const { SecretID } = await cluster.token('reader', ['reads-default']);
    for (const query of ['topic=Job&topic=Node', 'topic=Job&namespace=team', 'topic=Job&namespace=*', 'topic=*:*', ''])
      await expect(stream(query, SecretID), query).rejects.toThrow('403 Permission denied');
    await expect(stream('topic=Job', '')).rejects.toThrow('403 Permission denied');
    (await stream('topic=Job', SecretID)).close();
  });

  it('EV-44: a stream of all namespaces goes on with one that is made later, and hides one that is denied', async () => {
    await cluster.policy('reads-all', 'namespace "*" { policy = "read" }\nnamespace "hidden" { policy = "deny" }');
    const { SecretID } = await cluster.token('reader of all', ['reads-all']);
    const reader = await stream('topic=Job&namespace=*&index=1', SecretID);
    await cluster.asked('PUT', '/v1/namespace', { Name: 'hidden' });
    await cluster.asked('PUT', '/v1/namespace', { Name: 'later' });
    await register('secret', 'hidden');
    await register('shown', 'later');
    const lines = await reader.until((all) => all.some(({ Events }) => Events.some(({ Key }) => Key === 'shown')));
    expect(lines.flatMap(({ Events }) => Events.map(({ Key }) => Key))).not.toContain('secret');
    reader.close();
  });

  it('EV-46 EV-80: the stream ends when its token is deleted, and nothing comes behind that', async () => {
    const { AccessorID, SecretID } = await cluster.token('soon gone', ['reads-default']);
    const reader = await stream('topic=Job', SecretID);
    await register('before');
    await reader.until((all) => all.some(({ Events }) => Events.some(({ Key }) => Key === 'before')));
    await cluster.asked('DELETE', `/v1/acl/token/${AccessorID}`);
    await register('behind');
    expect(await reader.ended).toBe(true);
    expect(reader.texts.join('\n')).not.toContain('behind');
  });

  it('EV-46: it ends when its policy loses the right, and goes on without gap when it keeps it', async () => {
    await cluster.policy('changing', READ);
    const { SecretID } = await cluster.token('changing', ['changing']);
    const reader = await stream('topic=Job', SecretID);
    await cluster.policy('changing', `${READ}\nnode { policy = "read" }`);
    await register('still-seen');
    await reader.until((all) => all.some(({ Events }) => Events.some(({ Key }) => Key === 'still-seen')));
    await cluster.policy('changing', 'node { policy = "read" }');
    expect(await reader.ended).toBe(true);
  });

  it('EV-81: it ends at the expiry of its token, without an event', async () => {
    const { SecretID } = await cluster.token('short', ['reads-default'], '2s');
    const reader = await stream('topic=Job', SecretID);
    expect(await reader.ended).toBe(true);
    await expect(stream('topic=Job', SecretID)).rejects.toThrow('403 Permission denied');
  });

  it('OP-118: a new right counts for the next request, and a lost one too', async () => {
    await cluster.policy('growing', READ);
    const { SecretID } = await cluster.token('growing', ['growing']);
    const status = () => cluster.statusOf('GET', '/v1/jobs?namespace=team', SecretID);
    expect(await status()).toBe(403);
    await cluster.policy('growing', 'namespace "team" { policy = "read" }');
    expect(await status()).toBe(200);
    await cluster.policy('growing', READ);
    expect(await status()).toBe(403);
  });
});
