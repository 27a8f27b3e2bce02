import { FakeTime, settle } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { DRIVER_PERIOD_MS, DriverWatch, FIRST_ANSWER_TIMEOUT_MS, firstFingerprints } from './driver-watch.js';
import type { Driver, DriverFingerprint } from '../../drivers/driver.js';

type Answer = () => Promise<DriverFingerprint>;
const HEALTHY: DriverFingerprint = { health: 'healthy', description: 'Healthy', attributes: {} };

/** Returns drivers that only have a fingerprint. */
const driversOf = (answers: Record<string, Answer>): ReadonlyMap<string, Driver> =>
  new Map(
    Object.entries(answers).map(([name, fingerprint]) => [name, { name, fingerprint } as Partial<Driver> as Driver]),
  );

describe('drivers', () => {
  it('AG-12: their first answers are waited for, together, and not for ever', async () => {
    const time = new FakeTime();
    const drivers = driversOf({
      quick: async () => HEALTHY,
      broken: async () => Promise.reject(new Error('no socket')),
      never: () => new Promise(() => {}),
    });
    let prints: ReadonlyMap<string, DriverFingerprint> | undefined;
    void firstFingerprints(drivers, time).then((all) => (prints = all));
    await time.pass(FIRST_ANSWER_TIMEOUT_MS - 1);
    expect(prints).toBeUndefined();
    await time.pass(1);
    expect([...prints!].map(([name, { health }]) => [name, health])).toEqual([
      ['quick', 'healthy'],
      ['broken', 'unhealthy'],
      ['never', 'undetected'],
    ]);
    expect(prints!.get('broken')!.description).toBe('no socket');
  });

  it('AG-22: each is asked again and again; one that does not answer holds up no other and is not asked twice', async () => {
    const time = new FakeTime();
    const asked: string[] = [];
    const seen: string[] = [];
    const answer = (name: string, given: Answer) => [name, () => (asked.push(name), given())] as const;
    const watch = new DriverWatch({
      clock: time,
      timers: time,
      drivers: driversOf(
        Object.fromEntries([answer('slow', () => new Promise(() => {})), answer('quick', async () => HEALTHY)]),
      ),
      node: { driver: (name: string) => void seen.push(name) as undefined },
      emit: () => {},
    });
    watch.start();
    await time.pass(2 * DRIVER_PERIOD_MS);
    await settle();
    expect([asked, seen]).toEqual([
      ['slow', 'quick', 'quick'],
      ['quick', 'quick'],
    ]);
    watch.stop();
    await time.pass(2 * DRIVER_PERIOD_MS);
    expect(asked).toHaveLength(3);
  });

  it('PG-53: one that says that it has changed is asked at once, and again if it changes while it answers', async () => {
    const time = new FakeTime();
    const answers: ((print: DriverFingerprint) => void)[] = [];
    const seen: boolean[] = [];
    let change = (): void => {};
    const fingerprint = () => new Promise<DriverFingerprint>((resolve) => void answers.push(resolve));
    const onChange = (listener: () => void) => void (change = listener);
    const driver = { name: 'external', fingerprint, onChange } as Partial<Driver> as Driver;
    const watch = new DriverWatch({
      clock: time,
      timers: time,
      drivers: new Map([['external', driver]]),
      node: { driver: (_: string, { Healthy }: { Healthy: boolean }) => void seen.push(Healthy) as undefined },
      emit: () => {},
    });
    watch.start();
    change();
    change();
    expect(answers).toHaveLength(1);
    answers[0]!({ ...HEALTHY, health: 'unhealthy' });
    await settle();
    answers[1]!(HEALTHY);
    await settle();
    expect([answers.length, seen]).toEqual([2, [false, true]]);
    watch.stop();
  });
});
