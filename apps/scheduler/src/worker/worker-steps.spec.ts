import { type Allocation, type AllocStopDiff, SimulatedTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { WorkerSteps } from './worker-steps.js';

const aPlan = (placed: number, stopped: number) => ({
  NodeAllocation: { a: Array<Allocation>(placed) },
  NodeUpdate: { b: Array<AllocStopDiff>(stopped) },
});

describe('what a worker tells of a delivery', () => {
  it('CL-1065: its wait for the state, its passes and what came of them, its refreshes, each once', async () => {
    const time = new SimulatedTime();
    const start = time.nowMs();
    const steps = new WorkerSteps(time, '5f3a9c2e-0000-4000-8000-000000000001');
    time.advance(4);
    steps.addWait(812);
    steps.addPass(start + 5, start + 16, aPlan(2, 1));
    expect(steps.takeUnsent()).toBe(' taken0:5f3a9c2e waited0+4:812 scheduled5+11:2:1');
    time.advance(20);
    const waiting = new Promise<void>((resolve) => time.after(6, resolve));
    const refreshed = steps.addRefresh(820, waiting);
    time.advance(6);
    await refreshed;
    steps.addPass(start + 30, start + 30, aPlan(0, 0));
    expect(steps.takeUnsent()).toBe(' refreshed24+6:820 scheduled30+0:0:0');
  });
});
