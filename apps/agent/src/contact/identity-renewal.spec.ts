import { FakeTime } from '@waybill/model';
import { type Call, type NodeUpdateResponse, type Rpc, RpcError } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { type Logger, silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { MachineCredential } from '../machine/identity/machine-credential.js';
import { ServerContact } from './server-contact.js';

const TTL_MS = 10_000;

interface Asked {
  readonly call: string;
  readonly proof: string | undefined;
  readonly renew: boolean | undefined;
}

/** A machine in development mode, whose servers answer as configured. It registers, and sends a heartbeat at once. */
function setup() {
  const time = new FakeTime(0);
  const disk = { token: undefined as string | undefined, isFull: false };
  const credential = new MachineCredential('secret', {
    load: async () => disk.token,
    save: async (token) => {
      if (disk.isFull) throw new Error('no space left');
      disk.token = token;
    },
    remove: async () => void (disk.token = undefined),
  });
  const asked: Asked[] = [];
  const logged: string[] = [];
  const servers = { answer: (_asked: Asked): string | Error | undefined => undefined };
  const rpc: Rpc = {
    ask: async <Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> => {
      const { Identity, SecretID, RenewIdentity } = request as Record<string, string & boolean>;
      const one = { call: call.name.split('.')[1]!, proof: SecretID ?? Identity, renew: RenewIdentity };
      asked.push(one);
      const SignedIdentity = servers.answer(one);
      if (SignedIdentity instanceof Error) throw SignedIdentity;
      const answer: NodeUpdateResponse = {
        HeartbeatTTL: TTL_MS * 1e6,
        EvalIDs: [],
        NodeModifyIndex: 7,
        NumNodes: 1,
        SchedulingEligibility: 'eligible',
        Status: 'ready',
        Index: 7,
        ...(SignedIdentity !== undefined && { SignedIdentity }),
      };
      return answer as Res;
    },
  };
  const said = (text: string): void => void logged.push(text);
  const logger: Logger = Object.assign(Object.create(silentLogger) as Logger, { warn: said, error: said });
  const contact = new ServerContact({
    rpc,
    clock: time,
    timers: time,
    random: () => 0.5,
    logger,
    node: () => fixtures.aNode({ Status: 'ready' }),
    credential,
    dev: true,
  });
  const start = () => contact.start({ registered: () => {}, handleNodeStatus: () => {} });
  return { time, disk, credential, asked, servers, logged, contact, start };
}

const calls = (asked: readonly Asked[]): string[] => asked.map(({ call, proof }) => `${call} ${proof}`);
const forbidden = new RpcError('forbidden', 'Permission denied');

describe('the signed identity of a machine', () => {
  it('AU-197: a new one of a registration or heartbeat is used in all later calls, without a missed heartbeat', async () => {
    const { time, asked, servers, start, contact, disk, logged } = setup();
    const tokens = ['a.a.a', undefined, 'b.b.b'];
    servers.answer = () => tokens.shift();
    start();
    await time.pass(2 * TTL_MS);
    contact.nodeChanged();
    await time.pass(0);
    expect(calls(asked)).toEqual([
      'register ',
      'heartbeat a.a.a',
      'heartbeat a.a.a',
      'heartbeat b.b.b',
      'register b.b.b',
    ]);
    expect([disk.token, logged]).toEqual(['b.b.b', []]);
  });

  it('AU-197: one that comes with the report of a change is used too', async () => {
    const { time, asked, servers, start, contact } = setup();
    start();
    await time.pass(0);
    servers.answer = ({ call }) => (call === 'register' ? 'moved.to.pool' : undefined);
    contact.nodeChanged();
    await time.pass(TTL_MS);
    expect(calls(asked).slice(-1)).toEqual(['heartbeat moved.to.pool']);
  });

  it('AU-197: a heartbeat whose identity cannot be stored failed; the next one uses the old one', async () => {
    const { time, asked, servers, start, disk, logged } = setup();
    servers.answer = () => 'a.a.a';
    start();
    await time.pass(0);
    disk.isFull = true;
    servers.answer = () => 'b.b.b';
    await time.pass(TTL_MS + 1_000);
    expect(logged).toEqual(['a heartbeat failed; trying again', 'a heartbeat failed; trying again']);
    expect(calls(asked).slice(-1)).toEqual(['heartbeat a.a.a']);
    disk.isFull = false;
    await time.pass(1_000);
    await time.pass(TTL_MS);
    expect(calls(asked).slice(-1)).toEqual(['heartbeat b.b.b']);
  });

  it('a full disk does not keep a machine out of the cluster', async () => {
    const { time, asked, servers, start, disk, contact, logged } = setup();
    disk.isFull = true;
    servers.answer = ({ call }) => (call === 'register' ? 'a.a.a' : undefined);
    start();
    await time.pass(0);
    expect([contact.isRegistered, calls(asked)]).toEqual([true, ['register ', 'heartbeat secret']]);
    expect(logged).toEqual(['the signed identity of this machine could not be stored']);
  });

  it('AU-199: the next heartbeat asks for a new one, until it came', async () => {
    const { time, asked, servers, start, credential } = setup();
    start();
    await time.pass(0);
    credential.requestRenewal();
    await time.pass(2 * TTL_MS);
    servers.answer = () => 'a.a.a';
    await time.pass(2 * TTL_MS);
    expect(asked.map(({ renew }) => renew)).toEqual([undefined, false, true, true, true, false]);
  });

  it('AU-198, AG-33: a machine whose identity is refused registers at once, and is back with a new one', async () => {
    const { time, asked, servers, start, credential, logged } = setup();
    await credential.replace('expired.of.it');
    const isExpired = ({ proof }: Asked) => proof === 'expired.of.it';
    servers.answer = (one) => {
      if (one.call === 'register') return isExpired(one) ? undefined : new Error('another machine');
      return isExpired(one) ? forbidden : undefined;
    };
    start();
    await time.pass(0);
    expect(calls(asked)).toEqual([
      'register expired.of.it',
      'heartbeat expired.of.it',
      'register expired.of.it',
      'heartbeat secret',
    ]);
    expect(logged).toEqual(['the servers refuse the identity of this machine; registering again']);
    servers.answer = () => 'new.of.it';
    await time.pass(2 * TTL_MS);
    expect(calls(asked).slice(-1)).toEqual(['heartbeat new.of.it']);
  });

  it('AU-191: a refused secret leads to no registration', async () => {
    const { time, asked, servers, start } = setup();
    servers.answer = ({ call }) => (call === 'register' ? undefined : forbidden);
    start();
    await time.pass(1_000);
    expect(calls(asked)).toEqual(['register ', 'heartbeat secret', 'heartbeat secret']);
  });

  it('AU-207: after a registration that is not permitted, the next one presents no identity', async () => {
    const { time, asked, servers, start, credential, disk } = setup();
    await credential.replace('a.a.a');
    servers.answer = ({ proof }) => (proof === 'a.a.a' ? forbidden : undefined);
    start();
    await time.pass(1_000);
    expect([calls(asked), disk.token]).toEqual([['register a.a.a', 'register ', 'heartbeat secret'], undefined]);
  });
});
