import { FakeTime } from '@waybill/model';
import { call, NO_RESPONDER, RpcError, RpcUnavailableError, type Call, type Rpc } from '@waybill/rpc';
import { describe, expect, it } from 'vitest';
import { RetryingRpc } from './retrying-rpc.js';

/** A service that answers in turn; the last answer is repeated. */
class ScriptedRpc implements Rpc {
  readonly asked: string[] = [];
  constructor(private readonly answers: (string | Error)[]) {}

  async ask<Req, Res>({ name }: Call<Req, Res>): Promise<Res> {
    const answer = this.answers[Math.min(this.asked.push(name), this.answers.length) - 1];
    if (answer instanceof Error) throw answer;
    return answer as Res;
  }
}

const ofHolder = call<null, string>('deployments.pause', { role: 'deployments' });
const ofAny = call<null, string>('scheduler.plan');
const nobody = new RpcUnavailableError(ofHolder.name, NO_RESPONDER);
const deposed = new RpcError('unavailable', 'deployment watcher not enabled');

describe('calls of users to the holder of a role', () => {
  it('API-39, DP-602, DP-1216: between two holders a request is held until the next one stands', async () => {
    const time = new FakeTime();
    const rpc = new ScriptedRpc([deposed, nobody, nobody, 'paused']);
    const answer = new RetryingRpc(rpc, time, time).ask(ofHolder, null);
    await time.pass(1_000);
    expect(await answer).toBe('paused');
    expect(rpc.asked).toHaveLength(4);
  });

  it.each([nobody, deposed])('API-39: five seconds and not longer (%s)', async (error) => {
    const time = new FakeTime();
    const answer = new RetryingRpc(new ScriptedRpc([error]), time, time).ask(ofHolder, null);
    const ended = expect(answer).rejects.toBeInstanceOf(RpcUnavailableError);
    await time.pass(5_000);
    await ended;
    expect(time.pending).toBe(0);
  });

  it('API-39: nor longer when the clock is set back meanwhile', async () => {
    const time = new FakeTime();
    let setMs = 0;
    const clock = { nowMs: () => time.nowMs() + setMs };
    const answer = new RetryingRpc(new ScriptedRpc([nobody]), clock, time).ask(ofHolder, null);
    const ended = expect(answer).rejects.toBeInstanceOf(RpcUnavailableError);
    setMs = -3_600_000;
    await time.pass(5_000);
    await ended;
  });

  it.each([
    ['what the holder refuses', ofHolder, new RpcError('conflict', "can't pause terminal deployment")],
    ['what may have been carried out', ofHolder, new RpcUnavailableError(ofHolder.name, 'timeout')],
    ['what any replica would answer', ofAny, nobody],
  ])('%s is not asked again', async (_, asked, error) => {
    const time = new FakeTime();
    const rpc = new ScriptedRpc([error]);
    await expect(new RetryingRpc(rpc, time, time).ask(asked, null)).rejects.toBe(error);
    expect(rpc.asked).toEqual([asked.name]);
  });
});
