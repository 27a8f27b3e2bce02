import { randomUUID } from 'node:crypto';
import { connect, type NatsLink } from '@waybill/journal';
import {
  type Authority,
  type CallUser,
  EVERYBODY_CALLS,
  NatsRpc,
  pauseDeployment,
  planJob,
  readLog,
  restartAlloc,
  updateNodeDrain,
} from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessCluster, type MadeToken } from '../support/access-cluster.js';
import { eventually } from '../support/wait.js';

interface AllocStub {
  readonly ID: string;
  readonly NodeID: string;
  readonly ClientStatus: string;
}

/** A service that calls others itself, in the place of an API whose own check was passed over. */
let cluster: AccessCluster;
let link: NatsLink;
let rpc: NatsRpc;

beforeAll(async () => {
  cluster = await AccessCluster.start();
  link = await connect({ url: cluster.waybill.stack.natsUrl, name: 'test' });
  rpc = new NatsRpc(link.nc, link.inboxPrefix);
}, 60_000);
afterAll(async () => {
  await link.close();
  await cluster.stop();
});

const For = () =>
  ({ Actor: { Kind: 'anonymous', ID: '', Name: 'test' }, Reason: '', RequestID: randomUUID() }) as const;
const drain = (authority?: Authority): Promise<string> => {
  const request = { NodeID: randomUUID(), DrainSpec: null, MarkEligible: true, Meta: null, UpdatedBy: '', For: For() };
  return outcome(rpc.ask(updateNodeDrain, request, { authority }));
};
const outcome = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => 'done',
    (error: Error) => error.message,
  );
const asUser = (user: CallUser): Authority => ({ user });
const asToken = ({ AccessorID }: MadeToken, AtIndex = 0): Authority => asUser({ Kind: 'token', AccessorID, AtIndex });

async function tokenWith(rules: string): Promise<MadeToken> {
  const name = `policy-${randomUUID()}`;
  await cluster.asked('PUT', `/v1/acl/policy/${name}`, { Name: name, Rules: rules });
  return cluster.asked<MadeToken>('PUT', '/v1/acl/token', { Type: 'client', Policies: [name] });
}

const NOT_FOUND = 'node not found';
const DENIED = 'Permission denied';

describe('calls between services for a user', () => {
  it('OP-172, AU-258: the service that answers checks the right of the user again', async () => {
    const [allowed, reader] = [
      await tokenWith('node { policy = "write" }'),
      await tokenWith('node { policy = "read" }'),
    ];
    expect(await drain(asToken(allowed))).toBe(NOT_FOUND);
    expect(await drain(asToken(reader))).toBe(DENIED);
    expect(await drain(asUser({ Kind: 'anonymous', AtIndex: 0 }))).toBe(DENIED);
    const Job = fixtures.aJob({ Namespace: 'default' });
    const planned = (token: MadeToken) =>
      outcome(rpc.ask(planJob, { Job, Diff: false, MinIndex: 0 }, { authority: asToken(token) }));
    expect(await planned(await tokenWith('namespace "default" { capabilities = ["submit-job"] }'))).toBe('done');
    expect(await planned(await tokenWith('namespace "other" { capabilities = ["submit-job"] }'))).toBe(DENIED);
  });

  it('OP-172: a token that is deleted has no rights any more, however the call comes', async () => {
    const token = await tokenWith('node { policy = "write" }');
    expect(await drain(asToken(token))).toBe(NOT_FOUND);
    await cluster.asked('DELETE', `/v1/acl/token/${token.AccessorID}`);
    expect(await drain(asToken(token))).toBe(DENIED);
  });

  it('AU-253: a call without user and role is refused, as is one that claims that access control is off', async () => {
    expect(await drain()).toBe(DENIED);
    expect(await drain(asUser(EVERYBODY_CALLS))).toBe(DENIED);
    const pause = { DeploymentID: randomUUID(), Pause: true, For: For() };
    expect(await outcome(rpc.ask(pauseDeployment, pause))).toBe(DENIED);
  });

  it('OP-172: a machine asks the servers what the user of a call may do', { timeout: 60_000 }, async () => {
    const task = {
      Name: 'say',
      Driver: 'raw_exec',
      Config: { command: '/bin/sh', args: ['-c', 'echo hello; sleep 600'] },
    };
    const Job = { ID: 'said', Datacenters: ['*'], TaskGroups: [{ Name: 'g', Tasks: [task] }] };
    await cluster.asked('PUT', '/v1/jobs', { Job });
    const alloc = await eventually('it runs', async () => {
      const [first] = await cluster.asked<AllocStub[]>('GET', '/v1/job/said/allocations');
      return first?.ClientStatus === 'running' ? first : undefined;
    });
    const file = {
      AllocID: alloc.ID,
      Task: 'say',
      Type: 'stdout',
      Origin: 'start',
      Offset: 0,
      Limit: 100,
      WaitMs: 2_000,
    } as const;
    const read = (authority?: Authority) =>
      rpc.ask(readLog, file, { target: alloc.NodeID, authority }).then(
        ({ Data }) => Buffer.from(Data, 'base64').toString(),
        (error: Error) => error.message,
      );
    const reader = await tokenWith('namespace "default" { capabilities = ["read-logs"] }');
    expect(await read(asToken(reader))).toBe('hello\n');
    expect(await read(asToken(await tokenWith('namespace "default" { capabilities = ["read-job"] }')))).toBe(DENIED);
    expect(await read(asUser(EVERYBODY_CALLS))).toBe(DENIED);
    expect(await read()).toBe(DENIED);
    const restarted = outcome(
      rpc.ask(
        restartAlloc,
        { AllocID: alloc.ID, TaskName: '', AllTasks: false },
        { target: alloc.NodeID, authority: asToken(reader) },
      ),
    );
    expect(await restarted).toBe(DENIED);
    const ofApi = await cluster.send(
      'GET',
      `/v1/client/fs/logs/${alloc.ID}?task=say&type=stdout&plain=true`,
      reader.SecretID,
    );
    expect([ofApi.status, await ofApi.text()]).toEqual([200, 'hello\n']);
  });

  it('AU-260: a fence proves nothing where a user has to be named', async () => {
    expect(await drain({ fence: { Role: 'nodes', Epoch: 1, Holder: 'anybody' } })).toBe(DENIED);
  });
});
