import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { freePort } from '@waybill/embedded';
import { openPool } from '@waybill/projection';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { shellJob } from '../support/api-client.js';
import { EventReader } from '../support/event-reader.js';
import { eventually } from '../support/wait.js';
import { TestWebSocket } from '../support/websocket.js';

let cluster: AccessCluster;
/** The allocations of the job `web`, which stands in both namespaces. */
const allocs = { team: '', other: '' };

beforeAll(async () => {
  cluster = await AccessCluster.start(undefined, {
    WAYBILL_ACL_TOKEN_MIN_EXPIRATION_TTL: '1s',
    WAYBILL_KEYRING_KEY: 'ab'.repeat(32),
  });
  await cluster.asked('PUT', '/v1/node/pools', { Name: 'blue' });
  for (const namespace of ['team', 'other'] as const) {
    await cluster.asked('PUT', '/v1/namespace', { Name: namespace });
    await cluster.asked('PUT', '/v1/jobs', {
      Job: { ...shellJob('web', 'while :; do sleep 1; done'), Namespace: namespace },
    });
    await eventually('the job runs', async () => {
      const [alloc] = await cluster.asked<{ ID: string; ClientStatus: string }[]>(
        'GET',
        `/v1/job/web/allocations?namespace=${namespace}`,
      );
      allocs[namespace] = alloc?.ID ?? '';
      return alloc?.ClientStatus === 'running';
    });
  }
});

afterAll(async () => {
  await cluster?.stop();
});

const stream = (query: string, secret: string): Promise<EventReader> =>
  EventReader.open(`${cluster.waybill.api.url}/v1/event/stream?${query}`, secret);
const register = (id: string, Namespace = 'default') =>
  cluster.asked<{ Index: number }>('PUT', '/v1/jobs', { Job: { ...shellJob(id, 'true'), Namespace } });

const READ = 'namespace "default" { policy = "read" }';

/** The values of one member of a list, in order, as the owner of the token reads it. */
async function listed(url: string, secret: string, member: string): Promise<string[]> {
  const rows = await cluster.asked<Record<string, unknown>[]>('GET', url, undefined, secret);
  return rows.map((row) => String(row[member])).toSorted();
}
const refusal = async (url: string, secret: string, method = 'GET', body?: unknown): Promise<[number, string]> => {
  const answer = await cluster.send(method, url, secret, body);
  return [answer.status, (await answer.text()).trim()];
};
const DENIED = [403, 'Permission denied'];

describe('lists and objects', () => {
  const TEAM = 'namespace "team" { policy = "read" }\nnode_pool "blue" { policy = "read" }';

  it('OP-140: a list of all namespaces holds what its caller may see, whoever asked for the same before', async () => {
    const secret = await cluster.tokenWith(TEAM);
    for (const url of ['/v1/jobs', '/v1/allocations', '/v1/evaluations', '/v1/deployments']) {
      const all = await listed(`${url}?namespace=*`, cluster.management, 'Namespace');
      expect(all, url).toEqual(['other', 'team']);
      expect(await listed(`${url}?namespace=*`, secret, 'Namespace'), url).toEqual(['team']);
      expect(await refusal(`${url}?namespace=other`, secret), url).toEqual(DENIED);
      expect(await refusal(`${url}?namespace=*`, ''), url).toEqual(DENIED);
    }
  });

  it('OP-140: namespaces and node pools are listed as far as the caller has to do with them', async () => {
    const secret = await cluster.tokenWith(TEAM);
    expect(await listed('/v1/namespaces', secret, 'Name')).toEqual(['team']);
    expect(await listed('/v1/namespaces', '', 'Name')).toEqual([]);
    expect(await refusal('/v1/namespace/other', secret)).toEqual(DENIED);
    expect(await refusal('/v1/namespace/unknown', secret)).toEqual(DENIED);
    expect(await listed('/v1/node/pools', secret, 'Name')).toEqual(['blue']);
    expect(await listed('/v1/node/pools', '', 'Name')).toEqual([]);
    expect(await refusal('/v1/node/pool/default', secret)).toEqual(DENIED);
  });

  it('OP-141, OP-142: an object of another namespace is told from none by nobody who may not see it', async () => {
    const secret = await cluster.tokenWith(TEAM);
    const unknown = '11111111-2222-4333-8444-555555555555';
    for (const id of [allocs.other, unknown]) {
      expect(await refusal(`/v1/allocation/${id}?namespace=team`, secret)).toEqual([404, 'alloc not found']);
      expect(await refusal(`/v1/allocation/${id}`, secret)).toEqual(DENIED);
      expect(await refusal(`/v1/allocation/${id}`, '')).toEqual(DENIED);
    }
    expect((await refusal(`/v1/allocation/${allocs.team}`, secret))[0]).toBe(200);
  });

  it('OP-140: the allocations of a node are those that its reader may see', async () => {
    const [node] = await cluster.asked<{ ID: string }[]>('GET', '/v1/nodes');
    const url = `/v1/node/${node?.ID}/allocations`;
    expect(await listed(url, cluster.management, 'Namespace')).toEqual(['other', 'team']);
    expect(await listed(url, await cluster.tokenWith(`node { policy = "read" }\n${TEAM}`), 'Namespace')).toEqual([
      'team',
    ]);
    expect(await listed(url, await cluster.tokenWith('node { policy = "read" }'), 'Namespace')).toEqual([]);
  });

  it('OP-173: a search finds what its caller may see, and refuses a kind that is asked for by name', async () => {
    const secret = await cluster.tokenWith(TEAM);
    const search = async (Context: string, token: string, Prefix = '') =>
      (
        await cluster.asked<{ Matches: Record<string, string[] | null> }>(
          'PUT',
          '/v1/search?namespace=*',
          { Prefix, Context },
          token,
        )
      ).Matches;
    const all = await search('all', secret);
    expect(all).toMatchObject({ jobs: ['web'], namespaces: ['team'], node_pools: ['blue'], allocs: [allocs.team] });
    expect(all['nodes'] ?? []).toEqual([]);
    const body = { Prefix: '', Context: 'nodes' };
    expect(await refusal('/v1/search', secret, 'PUT', body)).toEqual(DENIED);
    expect(await refusal('/v1/search', '', 'PUT', { ...body, Context: 'jobs' })).toEqual(DENIED);
    const text = { Text: 'web', Context: 'all' };
    const fuzzy = await cluster.asked<object>('PUT', '/v1/search/fuzzy?namespace=*', text, secret);
    expect(JSON.stringify(fuzzy)).toContain('team');
    expect(JSON.stringify(fuzzy)).not.toContain('other');
  });

  it('API-267: the history of an object is read by those who may read the object', async () => {
    const secret = await cluster.tokenWith(TEAM);
    const log = (query: string, token: string) => refusal(`/v1/waybill/log?${query}`, token);
    expect(await log('', secret)).toEqual(DENIED);
    expect(await log('kind=node', secret)).toEqual(DENIED);
    expect(await log('kind=job&namespace=other', secret)).toEqual(DENIED);
    const [status, text] = await log('kind=job&namespace=*', secret);
    expect([status, text.includes('"team"'), text.includes('"other"')]).toEqual([200, true, false]);
    const index = (await cluster.send('GET', '/v1/jobs?namespace=*', cluster.management)).headers.get('X-Nomad-Index');
    const state = (kind: string, id: string, namespace: string, token: string) =>
      refusal(`/v1/waybill/state/${kind}/${id}?namespace=${namespace}&index=${index}`, token);
    expect((await state('job', 'web', 'team', secret))[0]).toBe(200);
    expect((await state('namespace', 'team', '', secret))[0]).toBe(200);
    expect(await state('job', 'web', 'other', secret)).toEqual(DENIED);
    const hidden = [404, `no alloc ${JSON.stringify(allocs.other)} at index ${index}`];
    expect(await state('alloc', allocs.other, 'team', secret)).toEqual(hidden);
    expect(await state('namespace', 'other', '', secret)).toEqual(DENIED);
  });
});

describe('the identity of a task', () => {
  it('AU-176: lists and reads the services of its namespace without a policy, and nothing else of jobs', async () => {
    const service = { Name: 'listed', Provider: 'nomad', Tags: ['t'] };
    const identity = { Audience: ['nomadproject.io'], File: true };
    const holders = {} as Record<'team' | 'other', { ID: string }>;
    for (const Namespace of ['team', 'other'] as const) {
      const job = shellJob(
        'holder',
        'cat secrets/nomad_token; echo; cat secrets/nomad_service_*.jwt; echo; exec sleep 1000',
      ) as { TaskGroups: { Tasks: object[] }[] };
      Object.assign(job.TaskGroups[0]!.Tasks[0]!, {
        Identities: [{ Name: 'default', File: true }],
        Services: [{ ...service, Name: `listed-${Namespace}`, Identity: identity }],
      });
      await cluster.asked('PUT', '/v1/jobs', { Job: { ...job, Namespace } });
      holders[Namespace] = await eventually('the service is registered', async () => {
        const [found] = await cluster.asked<{ AllocID: string }[]>(
          'GET',
          `/v1/service/listed-${Namespace}?namespace=${Namespace}`,
        );
        return found && { ID: found.AllocID };
      });
    }
    const ofTeam = holders.team.ID;
    const [task = '', ofService = ''] = await eventually('it has shown its tokens', async () => {
      const url = `/v1/client/fs/logs/${ofTeam}?task=task&type=stdout&plain=true&namespace=team`;
      const lines = (await (await cluster.send('GET', url, cluster.management)).text()).trim().split('\n');
      return lines.length === 2 && lines;
    });
    const tokens = { task, service: ofService };

    for (const [owner, token] of Object.entries(tokens)) {
      const list = (namespace: string) =>
        cluster.asked<object[]>('GET', `/v1/services?namespace=${namespace}`, undefined, token);
      const own = [{ Namespace: 'team', Services: [{ ServiceName: 'listed-team', Tags: ['t'] }] }];
      expect([await list('team'), await list('*')], owner).toEqual([own, own]);
      expect(await listed('/v1/service/listed-team?namespace=team', token, 'AllocID'), owner).toEqual([ofTeam]);
      expect(await listed('/v1/service/listed-other?namespace=*', token, 'AllocID'), owner).toEqual([]);
      for (const url of ['services?namespace=other', 'service/listed-other?namespace=other', 'services'])
        expect(await refusal(`/v1/${url}`, token), `${owner}: ${url}`).toEqual(DENIED);
      for (const url of ['jobs?', 'job/holder?', `allocation/${ofTeam}/services?`, `allocation/${ofTeam}?`])
        expect(await refusal(`/v1/${url}&namespace=team`, token), `${owner}: ${url}`).toEqual(DENIED);
    }
    // A token without a rule is no workload.
    expect(await refusal('/v1/services?namespace=*', await cluster.tokenWith(''))).toEqual(DENIED);

    // With a policy the identity sees the other namespace as well.
    const Rules = 'namespace "other" { policy = "read" }';
    const JobACL = { Namespace: 'team', JobID: 'holder', Group: '', Task: '' };
    await cluster.asked('PUT', '/v1/acl/policy/holder', { Name: 'holder', Rules, JobACL });
    expect(
      (await cluster.asked<object[]>('GET', '/v1/services?namespace=*', undefined, tokens.task)).map((one) =>
        String((one as { Namespace: string }).Namespace),
      ),
    ).toEqual(['other', 'team']);
    for (const Namespace of ['team', 'other'])
      await cluster.asked('DELETE', `/v1/job/holder?purge=true&namespace=${Namespace}`);
  });
});

/** What one who sends this token, in a header or in the first message, gets of a command: its output, or the reason. */
async function output(alloc: string, headerToken: string, firstToken?: string): Promise<string> {
  const query = new URLSearchParams({ task: 'task', command: '["echo","inside"]' });
  if (firstToken !== undefined) query.set('ws_handshake', 'true');
  const url = `${cluster.waybill.api.url}/v1/client/allocation/${alloc}/exec?${query.toString()}`;
  const socket = await TestWebSocket.open(url, headerToken === '' ? {} : { 'X-Nomad-Token': headerToken });
  if (firstToken !== undefined) socket.send({ version: 1, auth_token: firstToken });
  await eventually('the session is over', () => socket.isGone);
  return outputOf(socket) || (socket.closedWith?.reason ?? '');
}

function outputOf(socket: TestWebSocket): string {
  const frames = socket.messages.map((one) => JSON.parse(one) as { stdout?: { data?: string } });
  return frames.map(({ stdout }) => Buffer.from(stdout?.data ?? '', 'base64').toString()).join('');
}

describe('sessions in a task', () => {
  it('AG-303, OP-171: a command needs alloc-exec, and alloc-node-exec where nothing shuts the task in', async () => {
    const exec = await cluster.tokenWith('namespace "team" { capabilities = ["alloc-exec"] }');
    const nodeExec = await cluster.tokenWith('namespace "team" { capabilities = ["alloc-exec", "alloc-node-exec"] }');
    expect(await output(allocs.team, nodeExec)).toBe('inside\n');
    expect(await output(allocs.team, '', nodeExec)).toBe('inside\n');
    for (const token of [exec, '', await cluster.tokenWith('namespace "team" { policy = "read" }')]) {
      expect(await output(allocs.team, token).catch(String), token).toMatch(/Permission denied|403/);
      expect(await output(allocs.team, '', token).catch(String), token).toMatch(/Permission denied|403/);
    }
    expect(await output(allocs.other, nodeExec).catch(String)).toMatch(/Permission denied|403|404/);
  });
});

describe('streams of a machine', () => {
  const RULES = `
    namespace "team" { capabilities = ["read-logs", "read-fs", "alloc-exec", "alloc-node-exec"] }
    agent { policy = "read" }`;

  /** Opens everything that can be followed. Each result is a promise of how the server ended it. */
  async function followed(secret: string): Promise<Record<string, Promise<unknown>>> {
    const [node] = await cluster.asked<{ ID: string }[]>('GET', '/v1/nodes');
    const ofAlloc = (path: string) => `/v1/client/fs/${path}&namespace=team`;
    const urls = {
      log: ofAlloc(`logs/${allocs.team}?task=task&type=stdout&follow=true`),
      file: ofAlloc(`stream/${allocs.team}?path=alloc/logs/task.stdout.0`),
      monitor: '/v1/agent/monitor',
      monitorOfNode: `/v1/agent/monitor?node_id=${node?.ID}`,
    };
    const bodies = Object.entries(urls).map(async ([name, url]) => {
      const answer = await cluster.send('GET', url, secret);
      expect(answer.status, name).toBe(200);
      return [name, answer.text().then(() => 'ended')] as const;
    });
    const command = JSON.stringify(['sh', '-c', 'echo $$; exec sleep 600']);
    const query = new URLSearchParams({ task: 'task', command, namespace: 'team' });
    const url = `${cluster.waybill.api.url}/v1/client/allocation/${allocs.team}/exec?${query.toString()}`;
    const socket = await TestWebSocket.open(url, { 'X-Nomad-Token': secret });
    pids.push(await eventually('the command runs', () => Number(outputOf(socket))));
    const exec = eventually('the session is over', () => socket.closedWith);
    return { ...Object.fromEntries(await Promise.all(bodies)), exec };
  }
  /** The commands of all sessions. */
  const pids: number[] = [];
  const ENDED = {
    log: 'ended',
    file: 'ended',
    monitor: 'ended',
    monitorOfNode: 'ended',
    exec: { code: 1008, reason: 'ACL token expired' },
  };
  const endOf = async (open: Record<string, Promise<unknown>>) =>
    Object.fromEntries(await Promise.all(Object.entries(open).map(async ([name, end]) => [name, await end] as const)));

  it('AU-237: log, files, monitors and sessions end when their token is deleted or expires, and the command with them', async () => {
    await cluster.policy('follows', RULES);
    const [deleted, short] = [
      await cluster.token('deleted', ['follows']),
      await cluster.token('short', ['follows'], '4s'),
    ];
    const byExpiry = await followed(short.SecretID);
    const byDeletion = await followed(deleted.SecretID);
    const beforeMs = performance.now();
    await cluster.asked('DELETE', `/v1/acl/token/${deleted.AccessorID}`);
    expect(await endOf(byDeletion)).toEqual(ENDED);
    // Machines forget a user whom they have admitted after ten seconds. The API does not wait for that.
    expect(performance.now() - beforeMs).toBeLessThan(5_000);
    expect(await endOf(byExpiry)).toEqual(ENDED);
    await eventually('the commands are gone', () => !pids.some((pid) => existsSync(`/proc/${pid}`)));
  });
});

it('AU-225, AU-236: the secret of a node, like any other text, calls no machine and opens no stream', async () => {
  const [node] = await cluster.asked<{ ID: string }[]>('GET', '/v1/nodes');
  const ofAlloc = `${allocs.team}?namespace=team`;
  const paths = [
    `/v1/client/allocation/${allocs.team}/stats`,
    `/v1/client/allocation/${allocs.team}/checks`,
    `/v1/client/fs/ls/${ofAlloc}`,
    `/v1/client/fs/logs/${ofAlloc}&task=task&type=stdout`,
    `/v1/client/stats?node_id=${node?.ID}`,
    `/v1/client/metadata?node_id=${node?.ID}`,
  ];
  const topics = ['Node', `Node:${node?.ID}`, 'Job', 'ACLToken', '*'];
  const pool = openPool(cluster.waybill.stack.databaseUrl);
  const { rows } = await pool.query<{ secret: string }>(`select body::json ->> 'SecretID' as secret from nodes`);
  await pool.end();
  const secret = rows[0]?.secret ?? '';
  expect(secret).toMatch(/^[0-9a-f-]{36}$/);
  for (const credential of [secret, randomUUID(), 'a.b.c', 'any text']) {
    for (const path of paths) expect(await refusal(path, credential), path).toEqual([403, 'ACL token not found']);
    for (const topic of topics)
      await expect(stream(`topic=${topic}`, credential), topic).rejects.toThrow('403 Permission denied');
  }
});

it('AU-226: a deleted token calls no machine any more, whichever API it is sent to', async () => {
  const port = await freePort();
  await cluster.waybill.startService('api', 'second', { WAYBILL_HTTP_PORT: String(port) });
  const [here, there] = [cluster.waybill.api.url, `http://127.0.0.1:${port}`];
  await cluster.policy('reads-team', 'namespace "team" { policy = "read" }');
  const { AccessorID, SecretID } = await cluster.token('soon gone', ['reads-team']);
  const statusAt = async (base: string): Promise<number> => {
    const url = `${base}/v1/client/allocation/${allocs.team}/stats?namespace=team`;
    const answer = await fetch(url, { headers: { 'X-Nomad-Token': SecretID } });
    await answer.body?.cancel();
    return answer.status;
  };
  expect([await statusAt(here), await statusAt(there)]).toEqual([200, 200]);
  await cluster.asked('DELETE', `/v1/acl/token/${AccessorID}`);
  expect(await statusAt(here)).toBe(403);
  await eventually('the other API refuses it', async () => (await statusAt(there)) === 403, 1_000);
  await cluster.waybill.kill('second');
});

describe('event streams', () => {
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

  it('EV-49: a stream of what a token may see has the events of its namespaces, and none of the others', async () => {
    const { SecretID } = await cluster.token('reader of one', ['reads-default']);
    const reader = await stream('topic=Job&topic=Node&topic=ACLPolicy&namespace=*&visible=true', SecretID);
    await register('elsewhere', 'later');
    await cluster.policy('unseen', READ);
    await register('visible-here');
    await reader.until((all) => all.some(({ Events }) => Events.some(({ Key }) => Key === 'visible-here')));
    const text = reader.texts.join('\n');
    for (const hidden of ['elsewhere', 'unseen']) expect(text).not.toContain(hidden);
    reader.close();
    await expect(stream('topic=Node&namespace=*&visible=true', SecretID)).rejects.toThrow('403 Permission denied');
    await expect(stream('topic=Job&visible=maybe', SecretID)).rejects.toThrow('400');
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

  it("AU-232: the stream of a task's identity ends with the last update of its allocation", async () => {
    const JobACL = { Namespace: 'default', JobID: 'subscriber', Group: '', Task: '' };
    await cluster.asked('PUT', '/v1/acl/policy/subscribes', { Name: 'subscribes', Rules: READ, JobACL });
    const task = {
      Name: 'task',
      Driver: 'raw_exec',
      Config: { command: '/bin/sh', args: ['-c', 'echo "$NOMAD_TOKEN"; exec sleep 1000'] },
      Identities: [{ Name: 'default', Env: true }],
    };
    const Job = { ID: 'subscriber', Type: 'batch', Datacenters: ['*'], TaskGroups: [{ Name: 'g', Tasks: [task] }] };
    await cluster.asked('PUT', '/v1/jobs', { Job });
    const stub = await eventually('it runs', async () => {
      const [first] = await cluster.asked<{ ID: string; ClientStatus: string }[]>(
        'GET',
        '/v1/job/subscriber/allocations',
      );
      return first?.ClientStatus === 'running' && first;
    });
    const url = `/v1/client/fs/logs/${stub.ID}?task=task&type=stdout&plain=true`;
    const identity = await eventually('it has shown its token', async () =>
      (await (await cluster.send('GET', url, cluster.management)).text()).trim(),
    );
    const reader = await stream('topic=Job', identity);
    const endedMs = reader.ended.then((isWhole) => isWhole && Date.now());
    await cluster.asked('DELETE', '/v1/job/subscriber');
    expect(await endedMs).toBeGreaterThan(0);
    const alloc = await cluster.asked<{ ClientStatus: string; ModifyTime: number }>('GET', `/v1/allocation/${stub.ID}`);
    expect(alloc.ClientStatus).toBe('complete');
    expect(Number(await endedMs) - alloc.ModifyTime / 1e6).toBeLessThan(3_000);
    await expect(stream('topic=Job', identity)).rejects.toThrow('403 Permission denied');
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

// The last one: it deletes every token.
it('AU-251: a cluster in which no token exists does its own work, and a secret that nobody made is refused', async () => {
  await cluster.policy('anonymous', 'namespace "default" { policy = "write" }');
  const tokens = await cluster.asked<{ AccessorID: string; Type: string }[]>('GET', '/v1/acl/tokens');
  const isManagement = ({ Type }: { Type: string }) => Type === 'management';
  for (const { AccessorID } of [...tokens.filter((one) => !isManagement(one)), ...tokens.filter(isManagement)])
    await cluster.asked('DELETE', `/v1/acl/token/${AccessorID}`);
  const ask = <T>(method: string, url: string, body?: unknown) => cluster.asked<T>(method, url, body, '');
  await ask('PUT', '/v1/jobs', { Job: { ...shellJob('tokenless', 'true'), Type: 'batch' } });
  await eventually('the job has been planned, placed and run', async () => {
    const allocations = await ask<{ ClientStatus: string }[]>('GET', '/v1/job/tokenless/allocations');
    return allocations[0]?.ClientStatus === 'complete';
  });
  for (const path of ['/v1/jobs', '/v1/nodes', '/v1/acl/tokens', '/v1/acl/token/self', '/v1/agent/self'])
    for (const secret of [randomUUID(), cluster.management])
      expect([path, await cluster.statusOf('GET', path, secret)]).toEqual([path, 403]);
});
