import { type AllocCheckStatus, FakeTime } from '@waybill/model';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { aCheck } from '../fixtures/offered-service.js';
import { CheckRunner } from './check-runner.js';
import type { ProbeResult } from './probe.transport.js';
import type { WorkloadCheck } from './workload-service.js';

const OK: ProbeResult = { ok: true, output: 'nomad: http ok', statusCode: 200 };
const BROKEN: ProbeResult = { ok: false, output: 'no database', statusCode: 500 };

function setup(answer: (signal: AbortSignal) => Promise<ProbeResult>, last?: AllocCheckStatus, over = {}) {
  const time = new FakeTime(1_800_000_000_000);
  const from = time.nowMs();
  const looks: number[] = [];
  const told: string[] = [];
  const check: WorkloadCheck = {
    id: 'c1',
    service: 'web',
    task: 'server',
    group: 'shop.web[0]',
    spec: aCheck(over),
    address: '127.0.0.1',
    port: 80,
  };
  const probe = (_: WorkloadCheck, signal: AbortSignal) => {
    looks.push(time.nowMs() - from);
    return answer(signal);
  };
  const changed = () => void told.push(runner.status.Status);
  const runner = new CheckRunner(check, { probe, clock: time, timers: time, changed }, last);
  return { time, from, looks, told, runner };
}

describe('one check', () => {
  it('AG-145: first after half an interval, then every interval; pending before', async () => {
    const { time, from, looks, told, runner } = setup(async () => OK);
    expect(runner.status).toMatchObject({ Status: 'pending', Timestamp: 0, Mode: 'healthiness', Check: 'alive' });
    await time.pass(30_000);
    expect(looks).toEqual([5_000, 15_000, 25_000]);
    expect(runner.status).toEqual({
      ID: 'c1',
      Check: 'alive',
      Group: 'shop.web[0]',
      Mode: 'healthiness',
      Output: 'nomad: http ok',
      Service: 'web',
      Task: 'server',
      Status: 'success',
      StatusCode: 200,
      Timestamp: (from + 25_000) / 1_000,
    });
    expect(told).toEqual(['success']);
    expect(runner.passingSinceMs).toBe(from + 5_000);
    runner.stop();
    await time.pass(60_000);
    expect(looks).toHaveLength(3);
    expect(time.pending).toBe(0);
  });

  it('AG-145: looks again and again at no growing cost, and a stop ends the look that is under way', async () => {
    const composed = vi.spyOn(AbortSignal, 'any');
    onTestFinished(() => composed.mockRestore());
    const signals: AbortSignal[] = [];
    const { time, runner } = setup((signal) => {
      signals.push(signal);
      return signals.length < 10 ? Promise.resolve(OK) : new Promise(() => {});
    });
    await time.pass(96_000);
    expect(composed).not.toHaveBeenCalled(); // a combined signal would stay in memory with the signal that lives as long as the check
    expect(signals.map(({ aborted }) => aborted)).toEqual(Array(10).fill(false));
    runner.stop();
    expect(signals.at(-1)?.aborted).toBe(true);
  });

  it('AG-145: a failure begins the time of passing again', async () => {
    const answers = [OK, BROKEN, OK];
    const { time, from, told, runner } = setup(async () => answers.shift() ?? OK);
    await time.pass(15_000);
    expect(runner.status).toMatchObject({ Status: 'failure', Output: 'no database', StatusCode: 500 });
    expect(runner.passingSinceMs).toBeUndefined();
    await time.pass(20_000);
    expect(runner.passingSinceMs).toBe(from + 25_000);
    expect(told).toEqual(['success', 'failure', 'success']);
  });

  it('AG-145: the timeout ends a look, an error is told', async () => {
    const never = (signal: AbortSignal) =>
      new Promise<ProbeResult>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const slow = setup(never);
    await slow.time.pass(6_999);
    expect(slow.runner.status.Status).toBe('pending');
    await slow.time.pass(1);
    expect(slow.runner.status).toMatchObject({ Status: 'failure', Output: 'nomad: timed out', StatusCode: 0 });
    const refused = setup(async () => {
      throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
    });
    await refused.time.pass(5_000);
    expect(refused.runner.status.Output).toBe('nomad: connect ECONNREFUSED');
  });

  it('AG-146: goes on from the last result of an earlier run of the agent', async () => {
    const { runner: before, time } = setup(async () => OK);
    await time.pass(5_000);
    const { runner } = setup(async () => OK, before.status);
    expect(runner.status).toEqual(before.status);
    expect(runner.passingSinceMs).toBeDefined();
  });

  it('AG-130: a check whose result is ignored is one of readiness', () => {
    expect(setup(async () => OK, undefined, { OnUpdate: 'ignore' }).runner.status.Mode).toBe('readiness');
  });
});
