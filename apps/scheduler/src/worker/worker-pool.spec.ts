import { SimulatedTime } from '@waybill/model';
import { areSchedulers, KNOWN_SCHEDULERS, MAX_WORKERS, sharedOut } from '@waybill/rpc';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { type PooledWorker, WorkerPool } from './worker-pool.js';

/** One that goes on with what it holds until it is let go. */
class BusyWorker implements PooledWorker {
  status: PooledWorker['status'] = 'Starting';
  readonly workloadStatus = 'Scheduling';
  letGo = (): void => {};
  constructor(readonly enabledSchedulers: readonly string[]) {}
  start(): void {
    this.status = 'Started';
  }
  stop(): Promise<void> {
    this.status = 'Stopping';
    return new Promise((resolve) => (this.letGo = resolve));
  }
}

function poolOf(count: number, enabledSchedulers = KNOWN_SCHEDULERS) {
  const hired: BusyWorker[] = [];
  let ids = 0;
  const hire = (types: readonly string[]): BusyWorker => {
    const worker = new BusyWorker(types);
    hired.push(worker);
    return worker;
  };
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  const deps = { hire, newId: () => `id-${++ids}`, clock: new SimulatedTime(), logger };
  const pool = new WorkerPool(deps, enabledSchedulers);
  pool.start(count);
  return { pool, hired, warnings };
}

describe('the workers of a process', () => {
  it('EB-229: a changed pool has new workers at once, and those it had end what they hold', async () => {
    const { pool, hired } = poolOf(2);
    pool.change(1, ['batch', '_core']);
    expect(hired.map(({ status }) => status)).toEqual(['Stopping', 'Stopping', 'Started']);
    expect(hired[2]?.enabledSchedulers).toEqual(['batch', '_core']);
    expect(pool.report()).toMatchObject({
      enabledSchedulers: ['batch', '_core'],
      workers: [{ status: 'Started', enabledSchedulers: ['batch', '_core'] }],
    });
    let ended = false;
    const stopping = pool.stop().then(() => (ended = true));
    hired[2]?.letGo();
    hired[0]?.letGo();
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(false);
    hired[1]?.letGo();
    await stopping;
  });

  it('EB-229: a pool that is asked to be what it is stays as it is, in whatever order its schedulers are named', () => {
    const { pool, hired } = poolOf(2);
    pool.change(2, [...KNOWN_SCHEDULERS].reverse());
    expect(hired.map(({ status }) => status)).toEqual(['Started', 'Started']);
  });

  it('EB-229: as many schedulers, but others, are another pool, and so are fewer of the same', () => {
    const { pool, hired } = poolOf(1, ['service', 'batch']);
    pool.change(1, ['service', 'system']);
    expect(hired.map(({ status }) => status)).toEqual(['Stopping', 'Started']);
    pool.change(1, ['service']);
    expect(hired.map(({ status }) => status)).toEqual(['Stopping', 'Stopping', 'Started']);
  });

  it('none is hired any more once it is stopped', () => {
    const { pool, hired } = poolOf(1);
    void pool.stop();
    pool.change(3, KNOWN_SCHEDULERS);
    expect(hired).toHaveLength(1);
  });
});

describe('how many, and which', () => {
  it.each([
    [0, KNOWN_SCHEDULERS],
    [2, []],
  ])('EB-228: %i workers of %j are none, with a warning', (count, types) => {
    const { hired, warnings } = poolOf(count, types);
    expect(hired).toEqual([]);
    expect(warnings).toEqual(['no workers are configured: this process schedules nothing']);
    expect(poolOf(1).warnings).toEqual([]);
  });

  it('EB-228: known schedulers only, and housekeeping always', () => {
    expect(areSchedulers(['batch', '_core'])).toBe(true);
    expect(areSchedulers(['_core'])).toBe(true);
    expect(areSchedulers(['batch'])).toBe(false);
    expect(areSchedulers([])).toBe(false);
    expect(areSchedulers(['_core', 'nightly'])).toBe(false);
  });

  it('a number is shared out evenly, the same way whoever answers first', () => {
    expect(sharedOut(5, ['b', 'a'])).toEqual({ a: 3, b: 2 });
    expect(sharedOut(1, ['a', 'b'])).toEqual({ a: 1, b: 0 });
    expect(sharedOut(2 * MAX_WORKERS, ['a', 'b'])).toEqual({ a: MAX_WORKERS, b: MAX_WORKERS });
    expect(sharedOut(2 * MAX_WORKERS + 1, ['a', 'b'])).toBeUndefined();
    expect(sharedOut(0, [])).toBeUndefined();
  });
});
