import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type NatsLink } from '@waybill/journal';
import { AeadWrapper, type Claims, Keyring, readKeyFile } from '@waybill/keyring';
import { CLAIM_MODE, CLAIM_STATE, type Node } from '@waybill/model';
import { openPool, ReadModel } from '@waybill/projection';
import { claimVolume, heartbeat, nodeAllocs, NatsRpc, NODES_CHANGES, registerNode, signIdentities } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';

const IDENTITY = '/v1/client/identity';
const KEYS = '/v1/operator/keyring';
/** A machine sends a heartbeat after at most 20 s, and on a busy machine it is late. */
const HEARTBEAT_MS = 60_000;

let cluster: AccessCluster;
let link: NatsLink;
let rpc: NatsRpc;
let dir: string;
let keyFile: string;
/** The machine of the agent. */
let nodeId: string;
/** Another machine, which only registers. */
let other: Node;

const inAgentDir = (file: string): string => path.join(dir, 'agent', file);
const storedToken = (): string => readFileSync(inAgentDir('node-identity.jwt'), 'utf8');
const agentLog = (): string => readFileSync(path.join(cluster.waybill.dir, 'agent.log'), 'utf8');
const startAgent = (): Promise<void> =>
  cluster.waybill.startService('agent', 'agent', {
    WAYBILL_AGENT_DIR: path.join(dir, 'agent'),
    WAYBILL_NODE_POOL: 'fleet',
  });
const claims = async (): Promise<Claims> =>
  (await cluster.asked<{ Claims: Claims }>('GET', `${IDENTITY}?node_id=${nodeId}`)).Claims;
const rotated = async (): Promise<string> =>
  (await cluster.asked<{ Key: { KeyID: string } }>('PUT', `${KEYS}/rotate`)).Key.KeyID;
const deleted = async (key: string, query = ''): Promise<string> => {
  const answer = await cluster.send('DELETE', `${KEYS}/key/${key}${query}`, cluster.management);
  return `${answer.status} ${answer.ok ? '' : await answer.text()}`.trim();
};
/** What the servers say to a call: nothing if they answer it. */
const refusal = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => '',
    (error: unknown) => (error as Error).message,
  );

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-identities-'));
  keyFile = path.join(dir, 'keyring');
  writeFileSync(keyFile, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  cluster = await AccessCluster.start(['projector', 'nodes', 'volumes', 'api'], { WAYBILL_KEYRING_KEY_FILE: keyFile });
  await rotated();
  await cluster.asked('PUT', '/v1/node/pool/fleet', { Name: 'fleet', NodeIdentityTTL: '1h' });
  link = await connect({ url: cluster.waybill.stack.natsUrl, name: 'test' });
  rpc = new NatsRpc(link.nc, link.inboxPrefix);
  other = fixtures.aNode({ ID: randomUUID(), SecretID: randomUUID(), Status: 'initializing' });
  await rpc.ask(registerNode, { Node: other });
  await startAgent();
  nodeId = readFileSync(inAgentDir('client-id'), 'utf8');
});
afterAll(async () => {
  await link?.close();
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
});

describe('the signed identity of a machine', () => {
  it('AU-191, AU-194, AU-199: names the machine and lives as long as its pool says; only its claims are shown', async () => {
    const shown = await claims();
    expect(shown).toMatchObject({
      aud: 'nomadproject.io',
      sub: `node:global:fleet:${nodeId}:default`,
      nomad_node_id: nodeId,
      nomad_node_pool: 'fleet',
    });
    expect((shown.exp ?? 0) - (shown.iat ?? 0)).toBe(3_600);
    const answer = await cluster.send('GET', `${IDENTITY}?node_id=${nodeId}`, cluster.management);
    expect(await answer.text()).not.toContain(storedToken().split('.')[2]);
    expect(agentLog()).not.toContain(storedToken());
  });

  it('AU-199: reading needs node:read, renewing node:write; the node must be known and be there', async () => {
    const reader = await cluster.tokenWith('node { policy = "read" }');
    const of = (id: string) => `?node_id=${id}`;
    expect(await cluster.statusOf('GET', IDENTITY + of(nodeId), '')).toBe(403);
    expect(await cluster.statusOf('GET', IDENTITY + of(nodeId), reader)).toBe(200);
    expect(await cluster.statusOf('PUT', `${IDENTITY}/renew${of(nodeId)}`, reader)).toBe(403);
    const said = async (method: string, url: string) => {
      const answer = await cluster.send(method, url, cluster.management);
      return [answer.status, await answer.text()];
    };
    expect(await said('POST', `${IDENTITY}/renew`)).toEqual([400, 'No local Node and node_id not provided']);
    expect(await said('GET', IDENTITY + of(other.ID))).toEqual([404, expect.stringMatching(/^No path to node/)]);
  });

  it('AU-305: the command shows its claims, the general ones first', async () => {
    const env = { NOMAD_TOKEN: cluster.management };
    const { code, out } = await runCli(cluster.waybill.api.url, ['node', 'identity', 'get', nodeId.slice(0, 8)], env);
    const names = out.split('\n').map((line) => line.split(' ')[0]);
    expect([code, names.slice(0, 4), names.slice(-5)]).toEqual([
      0,
      ['Claim', 'aud', 'exp', 'iat'],
      ['nomad_node_class', 'nomad_node_datacenter', 'nomad_node_id', 'nomad_node_pool', ''],
    ]);
    const unknown = await runCli(cluster.waybill.api.url, ['node', 'identity', 'get', other.ID], env);
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('Error requesting node identity: ')]);
  });

  it('AU-331: proves its own machine to every service, and no other machine', async () => {
    const SecretID = storedToken();
    const Identities = [{ AllocID: 'none', WorkloadType: 'task', Workload: 't', Identity: 'i' }] as const;
    const claim = { VolumeID: 'none', AllocationID: '', ExternalNodeID: '', Claim: CLAIM_MODE.read, AccessMode: '' };
    const ofClaim = { ...claim, AttachmentMode: '', State: CLAIM_STATE.taken, Timestamp: 0, Region: 'global' };
    const calls = (NodeID: string) => {
      const by = { NodeID, SecretID };
      const read = { MinQueryIndex: 0, MaxQueryTimeMs: 0, MinStateIndex: 0 };
      return Promise.all([
        refusal(rpc.ask(heartbeat, { ...by, Status: 'ready' })),
        refusal(rpc.ask(nodeAllocs, { ...by, ...read })),
        refusal(rpc.ask(signIdentities, { ...by, MinStateIndex: 0, Identities })),
        refusal(rpc.ask(claimVolume, { ...by, ...ofClaim, Namespace: 'default' })),
      ]);
    };
    expect(await calls(nodeId)).toEqual(['', '', '', expect.stringContaining('volume not found')]);
    expect(await calls(other.ID)).toEqual([
      'Permission denied',
      'Permission denied',
      'Permission denied',
      'Permission denied',
    ]);
  });

  it('AU-191, AU-175: is no credential of the API', async () => {
    for (const url of ['/v1/nodes', `/v1/node/${nodeId}`, '/v1/acl/token/self', '/v1/event/stream?topic=Node'])
      expect([url, await cluster.statusOf('GET', url, storedToken())]).toEqual([url, 403]);
  });

  it(
    'AU-184, AU-195, AU-199: a renewal is signed by the new key, and the old one can go',
    { timeout: HEARTBEAT_MS },
    async () => {
      const before = await claims();
      const [old] = (await cluster.asked<{ KeyID: string; State: string }[]>('GET', `${KEYS}/keys`)).map(
        ({ KeyID }) => KeyID,
      );
      await rotated();
      expect(await deleted(old!)).toMatch(/^\d+ root key in use, cannot delete$/);
      const env = { NOMAD_TOKEN: cluster.management };
      const asked = await runCli(cluster.waybill.api.url, ['node', 'identity', 'renew', nodeId], env);
      expect([asked.code, asked.out, asked.err]).toEqual([0, '', '']);
      await eventually('the identity is new', async () => (await claims()).jti !== before.jti, HEARTBEAT_MS);
      expect(await deleted(old!)).toBe('200');
      expect(agentLog()).not.toMatch(/refuse|missed|failed/);
    },
  );

  it('AU-197: survives a restart of the agent', async () => {
    const { jti } = await claims();
    await cluster.waybill.kill('agent', 'SIGTERM');
    await startAgent();
    expect((await claims()).jti).toBe(jti);
  });

  it('AU-185, AU-198: a machine whose identity is refused comes back by registering', async () => {
    const { jti } = await claims();
    const [old] = (await cluster.asked<{ KeyID: string }[]>('GET', `${KEYS}/keys`)).map(({ KeyID }) => KeyID);
    await rotated();
    expect(await deleted(old!, '?force=true')).toBe('200');
    link.nc.publish(NODES_CHANGES); // the agent reads its list again
    await eventually('the identity is new', async () => (await claims()).jti !== jti);
    expect(agentLog()).toContain('the servers refuse the identity of this machine; registering again');
    expect(await refusal(rpc.ask(heartbeat, { NodeID: nodeId, SecretID: storedToken(), Status: 'ready' }))).toBe('');
  });

  it('AU-198: a machine that was away until its identity had expired comes back by registering', async () => {
    await cluster.waybill.kill('agent', 'SIGTERM');
    const pool = openPool(cluster.waybill.stack.databaseUrl);
    const { rows } = await new ReadModel(pool).keyring.keys();
    await pool.end();
    const keyring = new Keyring({
      wrapper: new AeadWrapper(await readKeyFile(keyFile, 'test')),
      keys: { find: () => undefined, active: () => rows.find(({ State }) => State === 'active'), all: () => rows },
      nowMs: () => Date.now(),
    });
    const hourAgoS = Math.floor(Date.now() / 1_000) - 3_600;
    const ofMachine = { nomad_node_id: nodeId, nomad_node_pool: 'fleet', sub: `node:global:fleet:${nodeId}:default` };
    const expired = await keyring.signJwt(undefined, { ...ofMachine, exp: hourAgoS, jti: 'expired' });
    expect(await refusal(rpc.ask(heartbeat, { NodeID: nodeId, SecretID: expired, Status: 'ready' }))).toBe(
      'Permission denied',
    );
    writeFileSync(inAgentDir('node-identity.jwt'), expired);
    await startAgent();
    const { exp = 0, jti } = await claims();
    expect([jti === 'expired', exp > Date.now() / 1_000]).toEqual([false, true]);
  });
});
