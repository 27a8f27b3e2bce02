import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type DevicePlugin, serveDevice } from '@waybill/plugin-sdk';

/** The files of a directory are devices. A file that others may write to is an unhealthy one. */
let dir = '';
let periodMs = 1_000;

async function devices(): Promise<{ ID: string; healthy: boolean; health_description: string }[]> {
  const names = await readdir(dir).catch((): string[] => []);
  return Promise.all(
    names.map(async (ID) => {
      const healthy = ((await stat(path.join(dir, ID))).mode & 0o002) === 0;
      return { ID, healthy, health_description: healthy ? '' : 'others may write to it' };
    }),
  );
}

const plugin: DevicePlugin = {
  name: 'directory-device',
  version: '0.1.0',
  configSchema: {
    object: {
      attributes: {
        dir: { Attr: { type: 'string', required: true } },
        period_ms: {
          default: {
            primary: { Attr: { name: 'period_ms', type: 'number' } },
            default: { literal: { value: '1000' } },
          },
        },
      },
    },
  },
  configure(config) {
    dir = String(config['dir']);
    periodMs = Number(config['period_ms']);
  },
  async *fingerprint(signal) {
    for (let before = ''; !signal.aborted; await pause(periodMs)) {
      const found = await devices();
      if (JSON.stringify(found) === before) continue;
      before = JSON.stringify(found);
      if (found.length === 0) yield [];
      else
        yield [
          {
            vendor: 'waybill',
            device_type: 'file',
            device_name: 'example',
            devices: found,
            attributes: { memory: { int_val: '512', unit: 'MiB' } },
          },
        ];
    }
  },
  async reserve(ids) {
    const known = new Set((await devices()).map(({ ID }) => ID));
    const missing = ids.find((id) => !known.has(id));
    if (missing !== undefined) throw new Error(`unknown device ${missing}`);
    return {
      envs: { EXAMPLE_FILES: ids.join(',') },
      mounts: ids.map((id) => ({ task_path: `/files/${id}`, host_path: path.join(dir, id), read_only: true })),
      devices: [],
    };
  },
  async *stats(intervalMs, signal) {
    for (; !signal.aborted; await pause(intervalMs)) {
      const sizes = await Promise.all(
        (await devices()).map(async ({ ID }) => [ID, (await stat(path.join(dir, ID))).size] as const),
      );
      const instance_stats = Object.fromEntries(
        sizes.map(([id, size]) => [
          id,
          { summary: { int_numerator_val: { value: String(size) }, unit: 'B', desc: 'Size' }, timestamp: null },
        ]),
      );
      yield [{ vendor: 'waybill', type: 'file', name: 'example', instance_stats }];
    }
  },
};

await serveDevice(plugin);
