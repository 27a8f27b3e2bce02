import { FakeTime, settle } from '@waybill/model';
import type { DeviceGroupMessage, PluginConnection } from '@waybill/plugins';
import { describe, expect, it } from 'vitest';
import { DeviceSource } from './device-source.js';

const group = (id: string, vendor = 'v'): DeviceGroupMessage => ({
  vendor,
  device_type: 'gpu',
  device_name: 'x',
  devices: [{ ID: id, healthy: true, health_description: '', hw_locality: null }],
  attributes: {},
});

/** The answers of a plugin to one request for its devices: lists, and the error at the end or `open`. */
type Answers = readonly [...(readonly DeviceGroupMessage[])[], string];

/** A plugin that answers each request for its devices with the next of the scripts. It has no statistics. */
function aSource(...scripts: Answers[]) {
  const time = new FakeTime();
  const faults: string[] = [];
  const seen: string[][] = [];
  let asked = 0;
  async function* answers({ method }: { method: string }): AsyncGenerator<object> {
    if (method !== 'Fingerprint') throw new Error('no statistics');
    const script = scripts[asked++] ?? ['open'];
    for (const step of script) {
      if (typeof step !== 'string') yield { device_group: step };
      else if (step === 'open') await new Promise(() => {});
      else throw new Error(step);
    }
  }
  const connection = { stream: answers as PluginConnection['stream'], call: () => Promise.reject(new Error('none')) };
  const source = new DeviceSource({
    name: 'gpus',
    plugin: { isClosed: false, runningProcess: async () => ({ connection }), close: async () => {} },
    timers: time,
    changed: () => void seen.push(source.devices.flatMap(({ devices }) => devices.map(({ ID }) => ID))),
    fault: (message) => void faults.push(message),
  });
  void source.watch();
  return { source, time, faults, seen, requests: () => asked };
}

describe('the devices of one plugin', () => {
  it('PG-91, PG-92: each good list replaces the last; a bad one is a fault, and the good one stays', async () => {
    const { source, faults, seen } = aSource([[group('a')], [group('b', '')], [group('a')], [group('c')], 'open']);
    await settle();
    expect([seen, faults]).toEqual([[['a'], ['c']], ['device vendor must be specified']]);
    expect(source.answered.isOpen).toBe(true);
    await source.close();
  });

  it('PG-93: when the stream breaks, the devices are gone until the plugin, asked again after 5 s, has them', async () => {
    const { source, time, faults, seen, requests } = aSource([[group('a')], 'lost'], ['lost'], [[group('a')], 'open']);
    await settle();
    expect([seen, faults, requests()]).toEqual([[['a'], []], ['lost'], 1]);
    await time.pass(4_999);
    expect(requests()).toBe(1);
    await time.pass(1);
    expect(requests()).toBe(2);
    await time.pass(10_000);
    expect([seen.at(-1), requests()]).toEqual([['a'], 3]);
    await source.close();
  });

  it('PG-93: a plugin that is switched off is no fault, has no devices and is not asked again', async () => {
    const { source, time, faults, seen, requests } = aSource(['rpc error: device is not enabled']);
    await time.pass(600_000);
    expect([seen, faults, requests(), source.answered.isOpen]).toEqual([[], [], 1, true]);
    await source.close();
  });

  it('PG-91: an empty list is an answer', async () => {
    const { source, seen } = aSource([[], 'open']);
    await settle();
    expect([source.answered.isOpen, seen]).toEqual([true, []]);
    await source.close();
  });
});
