import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { connect as natsConnect, nkeys } from '@nats-io/transport-node';
import { loadIdentity } from '@waybill/agent';
import { type RunningServer, startNats } from '@waybill/embedded';
import { connect, issuerKey, type NatsLink, userKey } from '@waybill/journal';
import {
  encodeMachineProof,
  heartbeat,
  type MachineProof,
  natsAccounts,
  natsAdmissions,
  NatsRpc,
  registerNode,
  serviceUser,
} from '@waybill/rpc';
import { keyedServiceUser } from '@waybill/service';
import { fixtures } from '@waybill/state';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { TestAuthority } from '../support/certificates.js';
import { TokenReviewer } from '../support/token-reviewer.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const AGENTS = 'system:serviceaccount:waybill-agents:waybill-agent';

/** NATS knows the services only. The machines come by themselves. */
let dir: string;
let nats: RunningServer;
let waybill: WaybillProcesses;
let authority: TestAuthority;
let kubernetes: TokenReviewer;
const links: NatsLink[] = [];
const joined: ChildProcess[] = [];
const PROGRAM = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

const seed = (name: string): string => path.join(dir, `${name}.seed`);
const logOf = (name: string): string => readFileSync(path.join(waybill.dir, `${name}.log`), 'utf8');

const nodesEnv = (): NodeJS.ProcessEnv => ({
  WAYBILL_NATS_CREDENTIALS: seed('nodes'),
  WAYBILL_NATS_ISSUER_FILE: seed('issuer'),
  WAYBILL_NATS_ADMISSION_TTL: '1h',
  WAYBILL_KUBERNETES_AGENTS: 'waybill-agents/waybill-agent',
  WAYBILL_KUBERNETES_URL: kubernetes.url,
  WAYBILL_KUBERNETES_ACCOUNT_DIR: path.join(dir, 'account'),
});

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-admissions-'));
  writeFileSync(path.join(dir, 'keyring'), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  authority = await TestAuthority.create();
  kubernetes = await TokenReviewer.start(await authority.issue(), 'own-token');
  mkdirSync(path.join(dir, 'account'));
  writeFileSync(path.join(dir, 'account', 'token'), 'own-token\n');
  writeFileSync(path.join(dir, 'account', 'ca.crt'), authority.certificate);
  const nodesKey = await userKey(seed('nodes'));
  nats = await startNats({
    dir: path.join(dir, 'nats'),
    accounts: natsAccounts([serviceUser(await userKey(seed('services'))), keyedServiceUser('nodes', nodesKey)]),
    authorization: natsAdmissions(await issuerKey(seed('issuer')), [nodesKey]),
  });
  const env = {
    WAYBILL_NATS_URL: nats.url,
    WAYBILL_NATS_CREDENTIALS: seed('services'),
    WAYBILL_KEYRING_KEY_FILE: path.join(dir, 'keyring'),
    WAYBILL_CLIENT_INTRODUCTION_ENFORCEMENT: 'strict',
    WAYBILL_CLIENT_INTRODUCTION_MAX_TTL: '1h',
  };
  waybill = await WaybillProcesses.startTogether(
    env,
    ['projector', 'broker', 'scheduler', 'nodes', 'api'],
    ['nodes'],
    {},
    nodesEnv,
  );
  await api('PUT', '/v1/operator/keyring/rotate');
}, 240_000);
afterEach(() => Promise.all(links.splice(0).map((link) => link.close())));
afterAll(async () => {
  await Promise.all(joined.map(ended));
  await waybill?.stop();
  await nats?.stop();
  await kubernetes?.stop();
  await authority?.remove();
  rmSync(dir, { recursive: true, force: true });
});

async function api<T>(method: string, url: string, body?: object): Promise<T> {
  const answer = await waybill.api.raw(url, { method, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}
const tokenFor = async (body: object = {}): Promise<string> =>
  (await api<{ JWT: string }>('PUT', '/v1/acl/identity/client-introduction-token', body)).JWT;

const aMachine = (over: Partial<MachineProof> = {}): MachineProof => ({
  node: randomUUID(),
  secret: randomUUID(),
  name: 'm1',
  pool: 'default',
  ...over,
});

/** Connects as a machine. Its key is its own unless it is told another one. */
async function connectAs(
  proof: MachineProof | string,
  key: string = randomUUID(),
  firstConnectMs = 0,
): Promise<NatsLink> {
  await userKey(seed(key));
  const text = typeof proof === 'string' ? proof : encodeMachineProof(proof);
  const credentialsFile = seed(key);
  const proofToSend = { text: () => text, onError: () => undefined };
  const link = await connect({ url: nats.url, name: 'machine', credentialsFile, proof: proofToSend, firstConnectMs });
  links.push(link);
  return link;
}
const isAdmitted = (proof: MachineProof | string): Promise<boolean> =>
  connectAs(proof).then(
    () => true,
    () => false,
  );

/** What the server says to a publish or a subscription; undefined: nothing. */
async function refusal({ nc }: NatsLink, attempt: () => void): Promise<string | undefined> {
  let said: string | undefined;
  void (async () => {
    for await (const status of nc.status()) if (status.type === 'error') said ??= String(status.error.message);
  })();
  attempt();
  await nc.flush();
  await nc.flush(); // what came before the first answer has reached the loop above by the second
  return said;
}

/** What the servers say to the registration of a machine over its connection. */
const register = (link: NatsLink, machine: MachineProof, over: Partial<MachineProof> = {}): Promise<string> => {
  const { node: ID, secret: SecretID, name: Name, pool: NodePool, introduction } = { ...machine, ...over };
  const Node = fixtures.aNode({ ID, SecretID, Name, NodePool, Status: 'initializing' });
  return new NatsRpc(link.nc, link.inboxPrefix)
    .ask(
      registerNode,
      { Node, ...(introduction !== undefined && { IntroductionToken: introduction }) },
      { machine: machine.node },
    )
    .then(
      () => 'registered',
      (error: unknown) => (error as Error).message,
    );
};

describe('a new machine', () => {
  it('AU-264, AU-265: is admitted by an introduction token, registers, and comes back by its secret', async () => {
    const machine = aMachine({ introduction: await tokenFor() });
    const link = await connectAs(machine);
    expect(await register(link, machine)).toBe('registered');
    await link.close();
    expect(await isAdmitted(aMachine({ node: machine.node, secret: machine.secret }))).toBe(true);
    expect(await isAdmitted(aMachine({ node: machine.node, introduction: await tokenFor() }))).toBe(false);
    expect(logOf('nodes')).toContain('the node is known with another secret');
  });

  it.each<[string, () => Promise<MachineProof | string> | MachineProof | string]>([
    ['without an introduction', () => aMachine()],
    ['with a made-up token', () => aMachine({ introduction: 'e30.e30.x' })],
    ['with a token of another pool', async () => aMachine({ introduction: await tokenFor({ NodePool: 'gpu' }) })],
    ['with a token for another name', async () => aMachine({ introduction: await tokenFor({ NodeName: 'm2' }) })],
    ['without a proof', () => ''],
    ['with another text as its proof', () => 'hello'],
  ])('AU-265: %s is not admitted', async (_what, proof) => {
    expect(await isAdmitted(await proof())).toBe(false);
  });

  it('AU-265: cannot repeat the token of another machine', async () => {
    const introduction = await tokenFor({ NodeName: 'm1' });
    const [first, second] = [aMachine({ introduction }), aMachine({ introduction })];
    expect(await register(await connectAs(first), first)).toBe('registered');
    expect(await isAdmitted(second)).toBe(false);
  });

  it('AU-264: does not connect with the key of another client', async () => {
    const machine = aMachine({ introduction: await tokenFor() });
    const publicKey = await userKey(seed('services'));
    const own = nkeys.createUser();
    const stolen = (nonce?: string) => ({
      nkey: publicKey,
      sig: Buffer.from(own.sign(new TextEncoder().encode(nonce ?? ''))).toString('base64'),
      auth_token: encodeMachineProof(machine),
    });
    await expect(
      natsConnect({ servers: nats.url, authenticator: stolen, reconnect: false, maxReconnectAttempts: 0 }),
    ).rejects.toThrow(/Authorization/);
  });
});

describe('an admitted machine', () => {
  it('AU-263: registers itself and no other machine', async () => {
    const machine = aMachine({ introduction: await tokenFor() });
    const link = await connectAs(machine);
    const other = randomUUID();
    expect(await register(link, machine, { node: other })).toBe('Permission denied');
    for (const subject of ['rpc.nodes.register', `rpc.nodes.register.${other}`])
      expect(await refusal(link, () => link.nc.publish(subject, '{}'))).toContain(`Publish to "${subject}"`);
    expect(await register(link, machine)).toBe('registered');
  });

  it('AU-264: has the permissions of its node, and nothing else', async () => {
    const machine = aMachine({ introduction: await tokenFor() });
    const link = await connectAs(machine);
    const listen = (subject: string) => () => void link.nc.subscribe(subject, { callback: () => {} });
    for (const subject of ['TXN.>', '$SYS.REQ.USER.AUTH', `rpc.agent.*.${randomUUID()}`, '_INBOX.>'])
      expect(await refusal(link, listen(subject)), subject).toContain(`Subscription to "${subject}"`);
    for (const subject of ['TXN.job.default.web', '$KV.LEASES.nodes', '$SYS.REQ.USER.AUTH', 'rpc.broker.dequeue'])
      expect(await refusal(link, () => link.nc.publish(subject, '{}')), subject).toContain(`Publish to "${subject}"`);
    expect(await refusal(link, listen(`rpc.agent.*.${machine.node}`))).toBeUndefined();
  });

  it('AU-265: that was purged is not admitted without another introduction', async () => {
    const machine = aMachine({ introduction: await tokenFor() });
    expect(await register(await connectAs(machine), machine)).toBe('registered');
    await api('PUT', `/v1/node/${machine.node}/purge`);
    const known = aMachine({ node: machine.node, secret: machine.secret });
    expect(await isAdmitted(known)).toBe(false);
    expect(await isAdmitted({ ...known, introduction: await tokenFor() })).toBe(true);
  });
});

describe('a pod on Kubernetes', () => {
  const onNode = (name: string, over: object = {}): MachineProof => {
    const introduction = `token-${randomUUID()}`;
    kubernetes.pods.set(introduction, { account: AGENTS, machine: name, audience: 'waybill', ...over });
    return aMachine({ name, introduction });
  };

  it('AU-266: is admitted and registered by the token of its service account', async () => {
    const machine = onNode('worker-1');
    const before = kubernetes.reviews;
    expect(await register(await connectAs(machine), machine)).toBe('registered');
    expect(kubernetes.reviews - before).toBe(1); // for both
    await connectAs(machine);
    expect(kubernetes.reviews - before).toBe(1);
  });

  it.each<[string, object]>([
    ['for another audience', { audience: 'vault' }],
    ['of another service account', { account: 'system:serviceaccount:default:default' }],
    ['that has expired', { isExpired: true }],
    ['of another Kubernetes node', { machine: 'worker-9' }],
  ])('AU-266: is not admitted by a token %s', async (_what, over) => {
    expect(await isAdmitted(onNode('worker-2', over))).toBe(false);
  });

  it('AU-266: whose token was stolen brings no second machine onto its Kubernetes node', async () => {
    const machine = onNode('worker-3');
    expect(await register(await connectAs(machine), machine)).toBe('registered');
    const thief = aMachine({ name: 'worker-3', introduction: machine.introduction });
    expect(await isAdmitted(thief)).toBe(false);
    expect(logOf('nodes')).toContain('a second machine on one Kubernetes node');
  });

  it('AU-266: waits while Kubernetes does not answer, and a machine that the servers know does not', async () => {
    const known = onNode('worker-4');
    expect(await register(await connectAs(known), known)).toBe('registered');
    const fresh = onNode('worker-5');
    kubernetes.isSilent = true;
    try {
      expect(await isAdmitted(fresh)).toBe(false);
      expect(await isAdmitted(known)).toBe(true);
    } finally {
      kubernetes.isSilent = false;
    }
    await connectAs(fresh, undefined, 30_000);
  });
});

describe('a computer outside Kubernetes', () => {
  it('AU-264, AU-265: joins by the command that the cluster prints, and comes back without its token', async () => {
    const intro = ['node', 'intro', 'create', `-nats=${nats.url}`, '-node-name=outside', '-ttl=10m'];
    const { code, out } = await runCli(waybill.api.url, intro);
    const [, token = ''] =
      /^waybill agent join -data-dir=waybill-machine -node=outside (waybill-join-\S+)\n$/.exec(out) ?? [];
    expect([code, token.length > 100]).toEqual([0, true]);
    const root = path.join(dir, 'outside');
    const ready = (Name: string) => async () => {
      const nodes = await api<{ Name: string; Status: string }[]>('GET', '/v1/nodes');
      return nodes.some((node) => node.Name === Name && node.Status === 'ready');
    };
    const join = async (...words: string[]): Promise<ChildProcess> => {
      const child = spawn(
        process.execPath,
        [PROGRAM, 'agent', 'join', `-data-dir=${root}`, '-node=outside', ...words],
        { stdio: 'ignore', env: { ...process.env, WAYBILL_AGENT_SECRETS_IN_MEMORY: 'false' } },
      );
      joined.push(child);
      await eventually('it is ready', ready('outside'), 120_000);
      return child;
    };
    const first = await join(token);
    const [tokenFile, seedFile] = [
      path.join(root, 'agent', 'intro_token.jwt'),
      path.join(root, 'credentials', 'agent.seed'),
    ];
    expect([existsSync(tokenFile), statSync(seedFile).mode & 0o777]).toEqual([false, 0o600]);
    const [node] = (await api<{ ID: string; Name: string }[]>('GET', '/v1/nodes')).filter(
      ({ Name }) => Name === 'outside',
    );
    expect(readFileSync(path.join(root, 'agent', 'client-id'), 'utf8')).toBe(node?.ID);
    await ended(first);
    const down = async () => (await api<{ Status: string }>('GET', `/v1/node/${node?.ID}`)).Status === 'down';
    await eventually('it is gone', down, 120_000);
    await ended(await join());
    const second = await runCli(waybill.api.url, ['node', 'intro', 'create', '-nats=http://127.0.0.1']);
    expect([second.code, second.err]).toEqual([1, expect.stringContaining('-nats must be an address')]);
  }, 300_000);
});

describe('without a nodes service', () => {
  it('AU-264: machines keep their connections, new ones wait, and services connect', async () => {
    const machine = aMachine({ introduction: await tokenFor() });
    const link = await connectAs(machine);
    expect(await register(link, machine)).toBe('registered');
    await waybill.kill('nodes');
    expect(await isAdmitted(machine)).toBe(false);
    const services = await connect({ url: nats.url, name: 's', credentialsFile: seed('services'), firstConnectMs: 0 });
    await services.close();
    await link.nc.flush();
    expect(link.up).toBe(true);
    const waiting = connectAs(machine, 'waiting', 120_000);
    await waybill.startService('nodes', 'nodes', nodesEnv());
    await waiting;
    const beat = { NodeID: machine.node, SecretID: machine.secret, Status: 'ready' } as const;
    const ask = () => new NatsRpc(link.nc, link.inboxPrefix).ask(heartbeat, beat).catch(() => undefined);
    expect(await eventually('a holder answers', ask)).toHaveProperty('Index');
  });
});

describe('an agent', () => {
  it('AU-264, AU-266: joins with the token of its pod, runs a job, and comes back without it', async () => {
    const agentDir = path.join(dir, 'agent');
    const tokenFile = path.join(dir, 'pod-token');
    kubernetes.pods.set('pod-token', { account: AGENTS, machine: 'worker-7', audience: 'waybill' });
    writeFileSync(tokenFile, 'pod-token\n');
    const { nodeId } = await loadIdentity(agentDir, randomUUID);
    await userKey(seed('agent'));
    const env = {
      WAYBILL_NATS_CREDENTIALS: seed('agent'),
      WAYBILL_NATS_PROOF: 'true',
      WAYBILL_CLIENT_INTRO_TOKEN_FILE: tokenFile,
      WAYBILL_AGENT_DIR: agentDir,
      WAYBILL_NODE_NAME: 'worker-7',
    };
    await waybill.startService('agent', 'agent', env);
    const status = (): Promise<string | undefined> =>
      api<{ Status: string }>('GET', `/v1/node/${nodeId}`).then(
        ({ Status }) => Status,
        () => undefined,
      );
    await eventually('it is ready', async () => (await status()) === 'ready');
    const Config = { command: '/bin/sleep', args: ['1000'] };
    const Resources = { CPU: 20, MemoryMB: 16 };
    const Tasks = [{ Name: 'main', Driver: 'raw_exec', Config, Resources }];
    const Constraints = [{ LTarget: '${node.unique.id}', RTarget: nodeId, Operand: '=' }];
    await api('PUT', '/v1/jobs', {
      Job: { ID: 'j', Datacenters: ['*'], Constraints, TaskGroups: [{ Name: 'g', Tasks }] },
    });
    const runs = async () =>
      (await api<{ ClientStatus: string }[]>('GET', '/v1/job/j/allocations')).some((a) => a.ClientStatus === 'running');
    expect(await eventually('it runs', runs)).toBe(true);
    rmSync(tokenFile);
    expect(existsSync(tokenFile)).toBe(false);
    await waybill.kill('agent', 'SIGTERM');
    await waybill.startService('agent', 'agent', env);
    expect(logOf('agent')).not.toContain('pod-token');
  });
});
