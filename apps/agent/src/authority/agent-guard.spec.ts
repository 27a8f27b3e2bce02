import { FakeTime, Refusal } from '@waybill/model';
import {
  type Authority,
  type Call,
  CSI_NODE,
  EVERYBODY_CALLS,
  hostStats,
  readLog,
  type Rpc,
  RpcUnavailableError,
  type UserMayRequest,
} from '@waybill/rpc';
import { beforeEach, describe, expect, it } from 'vitest';
import { ADMITTED_FOR_MS, AgentGuard, MAX_ADMITTED } from './agent-guard.js';

let time: FakeTime;
let asked: UserMayRequest[];
let answers: () => Promise<{ Allowed: boolean }>;
let fences: unknown[];
let guard: AgentGuard;

beforeEach(() => {
  time = new FakeTime(1_000_000);
  [asked, fences] = [[], []];
  answers = async () => ({ Allowed: true });
  const rpc: Rpc = {
    ask: <Req, Res>(_: Call<Req, Res>, request: Req): Promise<Res> => {
      asked.push(request as UserMayRequest);
      return answers() as Promise<Res>;
    },
  };
  guard = new AgentGuard({
    rpc,
    clock: time,
    node: () => ({ ID: 'n', SecretID: 's' }),
    holders: { admit: async (role, fence) => void fences.push([role, fence]) },
    pulledIndex: () => 42,
  });
});

const token = (AccessorID: string): Authority => ({ user: { Kind: 'token', AccessorID, AtIndex: 7 } });
const read = (authority: Authority | undefined, AllocID = 'a') => guard.admit(readLog, { AllocID }, authority);

describe('who may call a machine', () => {
  it('OP-172, AU-222: the servers are asked what the user may do with the allocation, in the name of the machine', async () => {
    await read(token('t'));
    const User = { Kind: 'token', AccessorID: 't', AtIndex: 7 };
    expect(asked).toEqual([
      { NodeID: 'n', SecretID: 's', Call: 'agent.readLog', AllocID: 'a', User, MinStateIndex: 42 },
    ]);
    for (const [at, request] of [{}, null, 'text', { AllocID: 7 }].entries()) {
      await guard.admit(hostStats, request, token(`t${at}`));
      expect(asked.at(-1)).toMatchObject({ Call: 'agent.hostStats', AllocID: '' });
    }
    expect(asked).toHaveLength(5);
  });

  it('OP-172, AU-224: a user without the right is refused, and asked about again at the next call', async () => {
    answers = async () => ({ Allowed: false });
    await expect(read(token('t'))).rejects.toMatchObject({ code: 'forbidden', message: 'Permission denied' });
    answers = async () => ({ Allowed: true });
    await read(token('t'));
    expect(asked).toHaveLength(2);
  });

  it('OP-172, AU-222: an admission counts for this user, call and allocation only, and ends', async () => {
    await read(token('t'));
    await time.pass(ADMITTED_FOR_MS - 1);
    await read(token('t'));
    expect(asked).toHaveLength(1);
    await read(token('u'));
    await read(token('t'), 'b');
    await read({ user: EVERYBODY_CALLS });
    expect(asked).toHaveLength(4);
    await read(token('u'));
    await read(token('t'), 'b');
    expect(asked).toHaveLength(4);
    await time.pass(1);
    answers = async () => ({ Allowed: false });
    await expect(read(token('t'))).rejects.toThrow('Permission denied');
  });

  it('OP-172: a clock that is set back keeps no right alive', async () => {
    await read(token('t'));
    time.freeze(-500_000);
    await read(token('t'));
    expect(asked).toHaveLength(2);
  });

  it('AU-253: nobody is admitted if the servers cannot be asked, and none without an authority', async () => {
    answers = () => Promise.reject(new RpcUnavailableError('nodes.userMay', 'timeout'));
    await expect(read(token('t'))).rejects.toMatchObject({ code: 'unavailable' });
    answers = () => Promise.reject(new Refusal('unavailable', 'behind'));
    await expect(read(token('t'))).rejects.toMatchObject({ message: 'behind' });
    await expect(read(undefined)).rejects.toThrow('Permission denied');
    await expect(read({ fence: { Role: 'volumes', Epoch: 1, Holder: 'h' } })).rejects.toThrow('Permission denied');
  });

  it('AU-224: while the servers cannot be asked, an admission holds for its ten seconds and no longer', async () => {
    await read(token('t'));
    answers = () => Promise.reject(new RpcUnavailableError('nodes.userMay', 'timeout'));
    await time.pass(ADMITTED_FOR_MS - 1);
    await read(token('t'));
    await expect(read(token('u'))).rejects.toMatchObject({ code: 'unavailable' });
    await time.pass(1);
    await expect(read(token('t'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(ADMITTED_FOR_MS).toBe(10_000);
  });

  it('AU-253: a call of a role is admitted by its fence, and by no user', async () => {
    const fence = { Role: 'volumes', Epoch: 3, Holder: 'h' } as const;
    await guard.admit(CSI_NODE.detach.call, {}, { fence });
    expect(fences).toEqual([['volumes', fence]]);
    await expect(guard.admit(CSI_NODE.detach.call, {}, token('t'))).rejects.toThrow('Permission denied');
    expect(asked).toEqual([]);
  });

  it('AU-222: remembers a limited number of admissions', async () => {
    for (let n = 0; n <= MAX_ADMITTED; n++) await read(token(`t${n}`));
    await read(token(`t${MAX_ADMITTED}`));
    expect(asked).toHaveLength(MAX_ADMITTED + 1);
    await read(token('t0'));
    expect(asked).toHaveLength(MAX_ADMITTED + 2);
  });
});
