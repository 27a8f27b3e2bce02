import { describe, expect, it } from 'vitest';
import { SeededRandom } from './seeded-random.js';
import { SimulatedProcess } from './simulated-process.js';
import { Simulator } from './simulator.js';

describe('the time of a process', () => {
  it('is counted in whole milliseconds: a timer comes up to one before the clock says so, and never after', async () => {
    const simulator = new Simulator();
    const passed: number[] = [];
    for (let n = 0; n < 200; n++) {
      const process = new SimulatedProcess(simulator, `p${n}`, new SeededRandom(`process ${n}`));
      simulator.schedule(n / 7, 'begins', () => {
        const beginningMs = process.nowMs();
        process.after(30, () => passed.push(process.nowMs() - beginningMs));
      });
    }
    await simulator.runUntil(simulator.nowMs + 1_000);
    expect(passed).toHaveLength(200);
    expect(new Set(passed)).toEqual(new Set([29, 30]));
  });
});
