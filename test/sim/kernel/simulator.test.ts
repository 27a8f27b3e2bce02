import { describe, expect, it } from 'vitest';
import { Simulator } from './simulator.js';

describe('simulated time', () => {
  it('runs events in order of their time, then of their scheduling, and what they set off before the next one', async () => {
    const simulator = new Simulator();
    const seen: string[] = [];
    simulator.schedule(10, 'later', () => seen.push('later'));
    simulator.schedule(5, 'first', () => {
      seen.push('first');
      void Promise.resolve()
        .then(() => Promise.resolve())
        .then(() => seen.push('settled'));
    });
    simulator.schedule(5, 'second', () => seen.push('second'));
    simulator.schedule(6, 'cancelled', () => seen.push('cancelled'))();
    await simulator.runUntil(simulator.nowMs + 10);
    expect(seen).toEqual(['first', 'settled', 'second', 'later']);
  });

  it('stops with what failed, and stands still where it was told to', async () => {
    const simulator = new Simulator();
    const beginning = simulator.nowMs;
    await simulator.runUntil(beginning + 1_000);
    expect(simulator.nowMs).toBe(beginning + 1_000);
    simulator.schedule(1, 'breaks', () => {
      throw new Error('broken');
    });
    await expect(simulator.runUntil(beginning + 2_000)).rejects.toThrow('broken');
  });
});
