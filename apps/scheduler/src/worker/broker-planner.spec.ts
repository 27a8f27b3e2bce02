import { SimulatedTime } from '@waybill/model';
import { NO_RESPONDER, RpcUnavailableError, type Call, type Rpc } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { BrokerPlanner, ShutdownError, SUBMIT_BACKOFF_MS } from './broker-planner.js';
import { StopSignal } from './stop-signal.js';

/** A planner, and what it asks. @param unavailable so many requests find no holder of the role */
function planning(unavailable = 0) {
  const time = new SimulatedTime();
  const signal = new StopSignal(time);
  const asked: [name: string, request: object][] = [];
  const timers: string[] = [];
  let missing = unavailable;
  const rpc: Rpc = {
    async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
      if (missing-- > 0) throw new RpcUnavailableError(call.name, NO_RESPONDER);
      asked.push([call.name.replace('broker.', ''), request as object]);
      return { Index: 5 } as Res;
    },
  };
  const planner = new BrokerPlanner({
    rpc,
    token: 'token',
    traceparent: () => undefined,
    signal,
    term: new AbortController().signal,
    measured: { meter: { observe: (timer) => void timers.push(timer), invoked: () => undefined }, clock: time },
  });
  return { planner, asked, timers, time, signal };
}

const settled = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};
const evaluation = fixtures.anEval();

describe('the requests of a run', () => {
  it('carry the token of the delivery, and are timed by their names', async () => {
    const { planner, asked, timers } = planning();
    await planner.updateEval(evaluation);
    await planner.createEval(evaluation);
    await planner.reblockEval(evaluation);
    const naming = { Evals: [evaluation], Token: 'token' };
    expect(asked).toEqual([
      ['updateEval', { ...naming, Steps: undefined }],
      ['createEval', naming],
      ['reblockEval', naming],
    ]);
    expect(timers).toEqual(['worker.update_eval', 'worker.create_eval', 'worker.reblock_eval']);
  });

  it('EB-152: delete what a core evaluation found, and answer the index of that', async () => {
    const { planner, asked } = planning();
    const found = { Kind: 'plugins' as const, PluginIDs: ['disks'] };
    expect(await planner.reap(evaluation, found, 9)).toBe(5);
    expect(asked).toEqual([['reap', { EvalID: evaluation.ID, Token: 'token', Reap: found, ScanIndex: 9 }]]);
  });

  it('EB-207: a plan whose answer has no result is an error', async () => {
    await expect(planning().planner.submitPlan(fixtures.aPlan())).rejects.toThrow('missing result');
  });

  it('EB-206: are repeated after longer and longer pauses while there is no holder', async () => {
    const { planner, asked, time } = planning(2);
    const created = planner.createEval(evaluation);
    for (const pause of [SUBMIT_BACKOFF_MS.base, 2 * SUBMIT_BACKOFF_MS.base]) {
      await settled();
      time.advance(pause - 1);
      await settled();
      expect(asked).toEqual([]);
      time.advance(1);
    }
    await created;
    expect(asked).toHaveLength(1);
  });

  it('EB-208: end with the service, also during a pause', async () => {
    const { planner, asked, signal } = planning(1);
    const created = planner.createEval(evaluation);
    await settled();
    signal.stop();
    await expect(created).rejects.toThrow(ShutdownError);
    expect(asked).toEqual([]);
  });
});
