import { FakeTime } from '@waybill/model';
import { type AskOptions, type Call, type Rpc, RpcError, RpcUnavailableError } from '@waybill/rpc';
import { describe, expect, it } from 'vitest';
import { BrokerInquiry } from './broker-inquiry.js';

type Answer = { readonly Enabled: boolean } | Error;

/** A broker that answers in turn; the last answer is repeated. */
class ScriptedRpc implements Rpc {
  readonly asked: unknown[] = [];
  constructor(private readonly answers: Answer[]) {}

  async ask<Req, Res>(_: Call<Req, Res>, request: Req, __?: AskOptions): Promise<Res> {
    this.asked.push(request);
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    if (answer instanceof Error) throw answer;
    return answer as Res;
  }
}

const nobody = new RpcUnavailableError('broker.reached', 'no responder');

describe('asking the broker', () => {
  it('API-39: between two holders it waits for the next', async () => {
    const time = new FakeTime();
    const rpc = new ScriptedRpc([nobody, nobody, { Enabled: false }]);
    const answer = new BrokerInquiry(rpc, time, time).enabledAt(7);
    await time.pass(1_000);
    expect(await answer).toBe(false);
    expect(rpc.asked).toEqual([{ Index: 7 }, { Index: 7 }, { Index: 7 }]);
  });

  it('API-39: five seconds and not longer', async () => {
    const time = new FakeTime();
    const answer = new BrokerInquiry(new ScriptedRpc([nobody]), time, time).enabledAt(7);
    const ended = expect(answer).rejects.toBe(nobody);
    await time.pass(5_000);
    await ended;
    expect(time.pending).toBe(0);
  });

  it('what the holder itself refuses is not asked again', async () => {
    const time = new FakeTime();
    const rpc = new ScriptedRpc([new RpcError('internal', 'too slow')]);
    await expect(new BrokerInquiry(rpc, time, time).enabledAt(7)).rejects.toThrow('too slow');
    expect(rpc.asked).toHaveLength(1);
  });
});
