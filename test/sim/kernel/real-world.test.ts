import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { forbidRealWorld, RealWorldError } from './real-world.js';

let allow = (): void => {};
afterEach(() => allow());

describe('while a simulation runs', () => {
  it('the real clock, chance, timers and ids throw; a date of a given time can be made', () => {
    allow = forbidRealWorld();
    const forbidden = [
      () => Date.now(),
      () => new Date(),
      () => Math.random(),
      () => setTimeout(() => {}, 1),
      () => setInterval(() => {}, 1),
      () => performance.now(),
      () => randomUUID(),
    ];
    const outcomes = forbidden.map((use) => {
      try {
        use();
        return 'allowed';
      } catch (error) {
        return error instanceof RealWorldError ? 'forbidden' : error;
      }
    });
    const made = new Date(0).toISOString();
    allow();
    expect(outcomes).toEqual(forbidden.map(() => 'forbidden'));
    expect(made).toBe('1970-01-01T00:00:00.000Z');
    expect(Math.abs(Date.now() - new Date().getTime())).toBeLessThan(1_000);
  });
});
