import { decodeJob } from '@waybill/model';
import { MAX_DRIVER_SCHEMAS } from '@waybill/projection';
import { describe, expect, it } from 'vitest';
import { DriverConfigurations } from './driver-configurations.js';

/** A schema with one required text. */
const requiring = (name: string): string =>
  JSON.stringify({ object: { attributes: { [name]: { Attr: { type: 'string', required: true } } } } });

const jobWith = (Driver: string, Config: object, over: object = {}) =>
  decodeJob(
    { ID: 'web', TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't', Driver, Config }] }], ...over },
    { region: 'global', submitTimeNs: 1 },
  );

class Machines {
  nowMs = 1_000;
  reads = 0;
  readonly configurations: DriverConfigurations;

  constructor(public reported: readonly (string | undefined)[]) {
    this.configurations = new DriverConfigurations(
      {
        driverSchemas: async () => {
          this.reads++;
          return this.reported;
        },
      },
      { nowMs: () => this.nowMs },
    );
  }

  async faults(...job: Parameters<typeof jobWith>): Promise<string[]> {
    return (await this.configurations.faultsOf(jobWith(...job))).map(({ Path, Message }) => {
      return `${Path.join('/')}: ${Message}`;
    });
  }
}

describe('the configurations of a job', () => {
  it('PG-42: the schemas of sixteen plugins are read for a job, and built-in drivers are judged beside them', async () => {
    const machines = new Machines([]);
    const task = (Driver: string, n: number) => ({ Name: `t${n}`, Driver, Config: { imag: 'i' } });
    const Tasks = [...Array.from({ length: 1_000 }, (_, n) => task(`plugin-${n}`, n)), task('docker', 1_000)];
    const job = jobWith('docker', {}, { TaskGroups: [{ Name: 'g', Tasks }] });
    const faults = await machines.configurations.faultsOf(job);
    expect(faults.map(({ Task, Path }) => [Task, ...Path])).toEqual([
      ['t1000', 'image'],
      ['t1000', 'imag'],
    ]);
    expect(machines.reads).toBeLessThanOrEqual(2 * 17);
  });

  it('PG-42: a built-in driver refuses, unless a plugin of its name accepts', async () => {
    const machines = new Machines([]);
    expect(await machines.faults('docker', { image: 'i' })).toEqual([]);
    expect(machines.reads).toBe(0);
    expect(await machines.configurations.faultsOf(jobWith('docker', { imag: 'i' }))).toEqual([
      { TaskGroup: 'g', Task: 't', Driver: 'docker', Path: ['image'], Message: 'image is required' },
      {
        TaskGroup: 'g',
        Task: 't',
        Driver: 'docker',
        Path: ['imag'],
        Message: 'unknown key "imag" in the configuration of docker',
      },
    ]);
    expect(await new Machines([undefined]).faults('docker', { imag: 'i' })).toHaveLength(2);
    expect(await new Machines([undefined, requiring('imag')]).faults('docker', { imag: 'i' })).toEqual([]);
    expect(await new Machines(['']).faults('docker', { imag: 'i' })).toEqual([]);
    expect(await new Machines([requiring('other')]).faults('docker', { imag: 'i', other: '${meta.x}' })).toEqual([
      'imag: Invalid argument name; No argument or block type is named "imag".',
    ]);
  });

  it('PG-42: a plugin refuses only if every machine that has it would refuse', async () => {
    const missing = ': Missing required argument; The argument "image" is required, but no definition was found.';
    const unknown = 'picture: Invalid argument name; No argument or block type is named "picture".';
    expect(await new Machines([requiring('image')]).faults('podman', { picture: 'x' })).toEqual([unknown, missing]);
    expect(await new Machines([requiring('image'), requiring('picture')]).faults('podman', { picture: 'x' })).toEqual(
      [],
    );
    for (const reported of [
      [],
      [requiring('image'), undefined],
      [requiring('image'), ''],
      [requiring('image'), 'no schema'],
      [requiring('image'), '{"object":{"attributes":{"a":{"Attr":{"type":5}}}}}'],
      ['{"object":{"attributes":{"a":{"block_map":{"labels":{"length":1}}}}}}'],
      Array.from({ length: MAX_DRIVER_SCHEMAS + 1 }, (_, n) => requiring(`n${n}`)),
    ])
      expect(await new Machines(reported).faults('podman', { picture: 'x', a: [{}] })).toEqual([]);
  });

  it('PG-42: schemas that are five seconds old accept, but never refuse', async () => {
    const machines = new Machines([requiring('image')]);
    expect(await machines.faults('podman', { image: 'x' })).toEqual([]);
    machines.reported = [requiring('picture')];
    expect(await machines.faults('podman', { image: 'x' })).toEqual([]);
    expect(machines.reads).toBe(1);
    expect(await machines.faults('podman', { picture: 'x' })).toEqual([]);
    expect(machines.reads).toBe(2);
    machines.reported = [requiring('image')];
    machines.nowMs += 5_001;
    expect(await machines.faults('podman', { picture: 'x' })).toHaveLength(2);
    const before = machines.reads;
    await Promise.all(Array.from({ length: 50 }, () => machines.faults('podman', { picture: 'x' })));
    expect(machines.reads - before).toBeLessThanOrEqual(2);
  });

  it('PG-42: machines of other regions are not known, so only built-in drivers refuse there', async () => {
    const Regions = [{ Name: 'west', Count: 1, Datacenters: ['*'], NodePool: 'there', Meta: null }];
    const over = { Multiregion: { Strategy: { MaxParallel: 0, OnFailure: '' }, Regions } };
    expect(await new Machines([requiring('image')]).faults('podman', { a: 1 }, over)).toEqual([]);
    expect(await new Machines([]).faults('exec', { args: [] }, over)).toEqual(['command: command is required']);
  });

  it('an answer names at most 20 faults', async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, 1]));
    expect(await new Machines([]).faults('mock_driver', many)).toHaveLength(20);
  });

  it('a read that fails is an error, and is not remembered', async () => {
    let fails = true;
    const read = {
      driverSchemas: async () => {
        if (fails) throw new Error('no database');
        return [];
      },
    };
    const configurations = new DriverConfigurations(read, { nowMs: () => 1 });
    await expect(configurations.faultsOf(jobWith('podman', { a: 1 }))).rejects.toThrow('no database');
    fails = false;
    expect(await configurations.faultsOf(jobWith('podman', { a: 1 }))).toEqual([]);
  });

  it('PG-42: a task without a configuration is for its machine to judge', async () => {
    expect(await new Machines([]).faults('exec', {})).toEqual([]);
  });
});
