import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { loadIdentity } from '@waybill/agent';
import { changeNatsAccounts, type NatsAccounts } from '@waybill/embedded';
import { connect, type NatsLink, userKey } from '@waybill/journal';
import {
  ack,
  allocsById,
  createEval,
  dequeue,
  eventReader,
  finish,
  heartbeat,
  machineUser,
  nack,
  natsAccounts,
  NatsRpc,
  peerRegionUser,
  readLog,
  reap,
  reblockEval,
  RpcError,
  serviceUser,
  submitPlan,
  updateEval,
} from '@waybill/rpc';
import { newUuid } from '@waybill/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NodesAndAgent, shellTask } from '../support/nodes-and-agent.js';
import { eventually } from '../support/wait.js';

/** A second machine of the cluster; here nobody runs on it. */
const OTHER_NODE = newUuid();

let cluster: NodesAndAgent;
let keys: string;
let nodeId: string;
let machineKey: string;
const links: NatsLink[] = [];

const seed = (name: string): string => path.join(keys, `${name}.seed`);
const agentDir = (): string => path.join(keys, 'agent');

async function connectAs(name: string, firstConnectMs?: number): Promise<NatsLink> {
  const link = await connect({ url: cluster.natsUrl, name, credentialsFile: seed(name), firstConnectMs });
  links.push(link);
  return link;
}

async function accountsWith(keyOfMachine: string): Promise<NatsAccounts> {
  return natsAccounts(
    [
      serviceUser(await userKey(seed('services'))),
      machineUser(keyOfMachine, nodeId),
      machineUser(await userKey(seed('other')), OTHER_NODE),
      peerRegionUser(await userKey(seed('region'))),
    ],
    [eventReader(await userKey(seed('events')))],
  );
}

beforeAll(async () => {
  keys = await mkdtemp(path.join(tmpdir(), 'waybill-keys-'));
  nodeId = (await loadIdentity(agentDir(), newUuid)).nodeId;
  machineKey = await userKey(seed('machine'));
  cluster = await NodesAndAgent.start({ accounts: await accountsWith(machineKey), serviceSeed: seed('services') });
});
afterEach(() => Promise.all(links.splice(0).map((link) => link.close())));
afterAll(async () => {
  await cluster?.stop();
  await rm(keys, { recursive: true, force: true });
});

/** What the server says to a publish or a subscription; undefined: nothing, by the time it has answered a ping. */
async function refusal(nc: NatsConnection, attempt: () => void): Promise<string | undefined> {
  let said: string | undefined;
  void (async () => {
    // Ends with the connection.
    for await (const status of nc.status()) if (status.type === 'error') said ??= String(status.error.message);
  })();
  attempt();
  await nc.flush();
  await nc.flush(); // what came before the first answer has reached the loop above by the second
  return said;
}

/** Its tasks end with it. */
const DEVELOPMENT = { WAYBILL_AGENT_STOP_TASKS_ON_EXIT: 'true' };

describe('a machine', () => {
  it('registers, runs a task and answers what is asked of it', async () => {
    await cluster.startAgent('m1', {
      ...DEVELOPMENT,
      WAYBILL_AGENT_DIR: agentDir(),
      WAYBILL_NATS_CREDENTIALS: seed('machine'),
    });
    expect((await cluster.node('m1')).ID).toBe(nodeId);
    const alloc = await cluster.place(nodeId, [shellTask('echo said; exec sleep 1000')]);
    await cluster.inStatus(alloc.ID, 'running');
    const read = { AllocID: alloc.ID, Task: 'web', Type: 'stdout', Origin: 'start', Offset: 0, Limit: 100 } as const;
    const { Data } = await cluster.rpc.ask(readLog, { ...read, WaitMs: 5_000 }, { target: nodeId });
    expect(Buffer.from(Data, 'base64').toString()).toBe('said\n');
  });

  it('AG-224: reads the disk of the allocation before from the machine where that ran, once it has ended', async () => {
    const otherDir = path.join(keys, 'other-agent');
    await mkdir(otherDir);
    await writeFile(path.join(otherDir, 'client-id'), OTHER_NODE);
    const env = { ...DEVELOPMENT, WAYBILL_AGENT_DIR: otherDir, WAYBILL_NATS_CREDENTIALS: seed('other') };
    await cluster.startAgent('m2', env);
    const disk = { group: { EphemeralDisk: { Sticky: true, Migrate: true, SizeMB: 10 } } };
    const writes = 'head -c 600000 /dev/zero | tr "\\0" x > $NOMAD_ALLOC_DIR/data/large; echo kept > local/small';
    const before = await cluster.place(nodeId, [shellTask(`${writes}; exec sleep 1000`)], disk);
    await cluster.inStatus(before.ID, 'running');
    const small = path.join(agentDir(), 'allocs', before.ID, 'web', 'local', 'small');
    await eventually('it is written', () => existsSync(small));
    const reads = 'wc -c < $NOMAD_ALLOC_DIR/data/large > local/seen; cat local/small >> local/seen';
    const next = await cluster.place(OTHER_NODE, [shellTask(`${reads}; exec sleep 1000`)], { ...disk, after: before });
    expect(cluster.alloc(next.ID).ClientStatus).toBe('pending');
    await cluster.stopAlloc(before);
    await cluster.inStatus(next.ID, 'running');
    const seen = path.join(otherDir, 'allocs', next.ID, 'web', 'local', 'seen');
    const text = await eventually('it has read', () => existsSync(seen) && readFileSync(seen, 'utf8').includes('kept'));
    expect([text, readFileSync(seen, 'utf8')]).toEqual([true, '600000\nkept\n']);
  });

  it.each([
    'TXN.job.default.web',
    'EVENTS.JobRegister.default',
    '$JS.API.STREAM.MSG.GET.TXN',
    '$JS.API.STREAM.INFO.EVENTS',
    '$JS.API.DIRECT.GET.KV_LEASES.$KV.LEASES.nodes',
    '$KV.LEASES.nodes',
    'rpc.nodes.purge',
    'rpc.nodes.register',
    `rpc.nodes.register.${OTHER_NODE}`,
    'rpc.nodes.updateDrain',
    'rpc.broker.dequeue',
    'rpc.agent.execStart.another',
    'rpc.agent.taskAnswerPiece.another',
    'waybill.projected',
    'waybill.nodes.changes',
  ])('may not publish to %s', async (subject) => {
    const { nc } = await connectAs('machine');
    expect(await refusal(nc, () => nc.publish(subject, '{}'))).toContain(`Violation for Publish to "${subject}"`);
  });

  it.each(['TXN.>', 'EVENTS.>', '>', `rpc.agent.*.${OTHER_NODE}`, 'rpc.agent.>', 'rpc.nodes.register', '_INBOX.>'])(
    'may not listen to %s',
    async (subject) => {
      const { nc } = await connectAs('machine');
      const listen = () => nc.subscribe(subject, { callback: () => {} });
      expect(await refusal(nc, () => void listen())).toContain(`Violation for Subscription to "${subject}"`);
    },
  );

  it('may do what it has to, so that a refusal above means something', async () => {
    const { nc, inboxPrefix } = await connectAs('machine');
    for (const subject of ['rpc.nodes.heartbeat', 'rpc.api.taskRequest'])
      expect(await refusal(nc, () => nc.publish(subject, '{}')), subject).toBeUndefined();
    const listen = () => nc.subscribe(`${inboxPrefix}.>`, { callback: () => {} });
    expect(await refusal(nc, () => void listen())).toBeUndefined();
  });

  it('cannot have an answer written where it may not write itself', async () => {
    const { nc, inboxPrefix } = await connectAs('machine');
    const { nc: services } = await connectAs('services');
    const heard: string[] = [];
    services.subscribe('TXN.forged', { callback: (_, msg) => void heard.push(msg.string()) });
    await services.flush();
    const request = { NodeID: '', SecretID: '', AllocIDs: [], MinStateIndex: 0 };
    nc.publish('rpc.nodes.allocsById', JSON.stringify(request), { reply: 'TXN.forged' });
    // Asked behind it on the same way: when this one is answered, so would that one be.
    await expect(new NatsRpc(nc, inboxPrefix).ask(allocsById, request)).rejects.toBeInstanceOf(RpcError);
    await services.flush();
    expect(heard).toEqual([]);
  });

  it('is no other machine, whatever it says', async () => {
    const { nc, inboxPrefix } = await connectAs('other');
    const claim = { NodeID: nodeId, SecretID: newUuid(), Status: 'ready' } as const;
    await expect(new NatsRpc(nc, inboxPrefix).ask(heartbeat, claim)).rejects.toBeInstanceOf(RpcError);
  });
});

describe('what workers ask of the broker', () => {
  const ASKED = [dequeue, ack, nack, finish, updateEval, createEval, reblockEval, reap, submitPlan];
  const subjects = ASKED.map(({ name }) => `rpc.${name}`);

  it.each(['machine', 'region', 'events'])('EB-10: is refused to the key of a %s', async (key) => {
    const { nc } = await connectAs(key);
    for (const subject of subjects)
      expect(await refusal(nc, () => nc.publish(subject, '{}'))).toContain(`Violation for Publish to "${subject}"`);
  });

  it('EB-10: is open to the services', async () => {
    const { nc } = await connectAs('services');
    for (const subject of subjects) expect(await refusal(nc, () => nc.publish(subject, '{}'))).toBeUndefined();
  });
});

it('nobody comes in without credentials, or with a key that is not known', async () => {
  await userKey(seed('stranger'));
  await expect(connect({ url: cluster.natsUrl, name: 'nobody', firstConnectMs: 0 })).rejects.toThrow('cannot connect');
  await expect(connectAs('stranger', 0)).rejects.toThrow('cannot connect');
});

describe('a reader of events', () => {
  it('follows the stream by a consumer, and by sequence', async () => {
    const { nc: services } = await connectAs('services');
    await jetstream(services).publish('EVENTS.JobRegister.default', 'first');
    const { nc } = await connectAs('events');
    const consumer = await jetstream(nc).consumers.get('EVENTS');
    expect((await consumer.next({ expires: 5_000 }))?.string()).toBe('first');
    const direct = await (await jetstreamManager(nc)).direct.getMessage('EVENTS', { seq: 1 });
    expect(direct?.string()).toBe('first');
  });

  it('reads nothing else, and writes nothing, not even by way of the server', async () => {
    const { nc } = await connectAs('events');
    for (const subject of ['$JS.API.STREAM.INFO.TXN', '$JS.API.STREAM.PURGE.EVENTS', 'TXN.forged', 'rpc.nodes.purge'])
      expect(await refusal(nc, () => nc.publish(subject, '{}')), subject).toContain('Violation for Publish');
    const { nc: services } = await connectAs('services');
    const streams = (await jetstreamManager(services)).streams;
    nc.publish('$JS.API.DIRECT.GET.EVENTS', '{"seq":1}', { reply: 'TXN.forged' });
    await nc.request('$JS.API.DIRECT.GET.EVENTS', '{"seq":1}'); // behind it, and answered
    const inLog = await streams.info('TXN', { subjects_filter: 'TXN.forged' });
    expect(inLog.state.subjects ?? {}).toEqual({});
  });
});

it('a new key is let in, and the old one put out, when the server reads its list again', async () => {
  const old = await connectAs('machine');
  await changeNatsAccounts(path.join(cluster.dir, 'nats'), await accountsWith(await userKey(seed('new'))));
  await eventually('the old key is out', () => !old.up);
  await old.close();
  const { nc } = await connectAs('new');
  expect(await refusal(nc, () => nc.publish('rpc.nodes.heartbeat', '{}'))).toBeUndefined();
});
