import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type NatsLink } from '@waybill/journal';
import type { Node } from '@waybill/model';
import { NatsRpc, registerNode } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';

const PATH = '/v1/acl/identity/client-introduction-token';

let cluster: AccessCluster;
let link: NatsLink;
let dir: string;

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-introductions-'));
  const keyFile = path.join(dir, 'keyring');
  writeFileSync(keyFile, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  cluster = await AccessCluster.start(['projector', 'nodes', 'api'], {
    WAYBILL_KEYRING_KEY_FILE: keyFile,
    WAYBILL_CLIENT_INTRODUCTION_ENFORCEMENT: 'strict',
  });
  await cluster.asked('PUT', '/v1/operator/keyring/rotate');
  link = await connect({ url: cluster.waybill.stack.natsUrl, name: 'test' });
});
afterAll(async () => {
  await link?.close();
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const tokenFor = async (body: object = {}): Promise<string> =>
  (await cluster.asked<{ JWT: string }>('PUT', PATH, body)).JWT;
const machine = (over: Partial<Node> = {}): Node =>
  fixtures.aNode({ ID: randomUUID(), SecretID: randomUUID(), Status: 'initializing', ...over });
/** What the servers say to the registration of a machine. */
const register = (Node: Node, IntroductionToken?: string): Promise<string> =>
  new NatsRpc(link.nc, link.inboxPrefix)
    .ask(registerNode, { Node, ...(IntroductionToken !== undefined && { IntroductionToken }) })
    .then(
      () => 'registered',
      (error: unknown) => (error as Error).message,
    );

it('AU-200: needs node:write and no more', async () => {
  const reader = await cluster.tokenWith('node { policy = "read" }');
  const writer = await cluster.tokenWith('node { policy = "write" }');
  expect(await cluster.statusOf('PUT', PATH, '', {})).toBe(403);
  expect(await cluster.statusOf('PUT', PATH, reader, {})).toBe(403);
  expect(await cluster.statusOf('POST', PATH, writer, {})).toBe(200);
  const refused = await cluster.send('PUT', PATH, writer, { TTL: '-1s' });
  expect([refused.status, await refused.text()]).toEqual([400, 'TTL must not be negative']);
});

it('AU-333: is no credential of the API', async () => {
  const token = await tokenFor();
  for (const url of ['/v1/jobs', '/v1/nodes', '/v1/acl/token/self', '/v1/vars'])
    expect([url, await cluster.statusOf('GET', url, token)]).toEqual([url, 403]);
});

it('AU-203, AU-332: under strict a new machine needs a token of its pool, and a known one needs none', async () => {
  const known = machine({ NodePool: 'default' });
  expect(await register(known)).toBe('Permission denied');
  expect(await register(known, 'made-up')).toBe('Permission denied');
  expect(await register(known, await tokenFor({ NodePool: 'gpu' }))).toBe('Permission denied');
  const token = await tokenFor();
  expect([await register(known, token), await register(machine(), token)]).toEqual(['registered', 'registered']);
  expect([await register(known), await register(known, 'made-up')]).toEqual(['registered', 'registered']);
});

it('AU-201: a token with a name is good for one new machine of that name, of several at once for one', async () => {
  const token = await tokenFor({ NodeName: 'm1' });
  expect(await register(machine({ Name: 'm2' }), token)).toBe('Permission denied');
  const machines = [1, 2, 3, 4].map(() => machine({ Name: 'm1' }));
  const answers = await Promise.all(machines.map((one) => register(one, token)));
  expect(answers.toSorted()).toEqual(['Permission denied', 'Permission denied', 'Permission denied', 'registered']);
  const first = machines[answers.indexOf('registered')]!;
  expect(await register(first, token)).toBe('registered');
});

it('AU-206, AU-305: an agent waits until somebody brings it the token of the command, and removes it', async () => {
  const agentDir = path.join(dir, 'agent');
  const started = cluster.waybill.startService('agent', 'agent', { WAYBILL_AGENT_DIR: agentDir });
  const log = path.join(cluster.waybill.dir, 'agent.log');
  await eventually('the servers refuse it', () => readFileSync(log, 'utf8').includes('Permission denied'));
  const env = { NOMAD_TOKEN: cluster.management };
  const { code, out } = await runCli(
    cluster.waybill.api.url,
    ['node', 'intro', 'create', '-node-name=test-node', '-ttl=10m'],
    env,
  );
  const [, token] = /^Successfully generated client introduction token:\n\n(\S+)\n$/.exec(out) ?? [];
  expect([code, typeof token]).toEqual([0, 'string']);
  const file = path.join(agentDir, 'intro_token.jwt');
  writeFileSync(file, `${token}\n`);
  await started;
  const nodes = await cluster.asked<{ Name: string }[]>('GET', '/v1/nodes?filter=Name+%3D%3D+%22test-node%22');
  expect(nodes).toHaveLength(1);
  expect([existsSync(file), readFileSync(log, 'utf8').includes(token ?? '')]).toEqual([false, false]);
  const wrong = await runCli(cluster.waybill.api.url, ['node', 'intro', 'create', '-ttl=soon'], env);
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('Error parsing TTL: time: invalid duration')]);
});

it('AU-203: a machine that was purged is admitted by its identity, without another token', async () => {
  const agents = '/v1/nodes?filter=Name+%3D%3D+%22test-node%22';
  const [node] = await cluster.asked<{ ID: string; CreateIndex: number }[]>('GET', agents);
  await cluster.asked('PUT', `/v1/node/${node!.ID}/purge`);
  await eventually('the machine is back', async () => {
    const [again] = await cluster.asked<(typeof node)[]>('GET', agents);
    return again?.ID === node!.ID && again.CreateIndex > node!.CreateIndex;
  });
});
