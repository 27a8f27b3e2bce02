import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiClient } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface Key {
  KeyID: string;
  State: string;
}

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  const services = ['projector', 'broker', 'scheduler', 'api'] as const;
  const shared = {
    WAYBILL_KEYRING_KEY: 'ef'.repeat(32),
    WAYBILL_ROOT_KEY_ROTATION_THRESHOLD: '3s',
    WAYBILL_ROOT_KEY_GC_THRESHOLD: '0s',
  };
  // The broker rotates and collects nothing by itself in this time, so that only `system gc` removes keys.
  const ofBroker = () => ({ WAYBILL_ROOT_KEY_GC_INTERVAL: '200ms', WAYBILL_ROOT_KEY_GC_THRESHOLD: '1h' });
  waybill = await WaybillProcesses.startTogether(shared, services, ['broker'], {}, ofBroker);
  api = waybill.api;
});
afterAll(() => waybill?.stop());

const write = async (method: string, body?: unknown): Promise<number> =>
  (await api.raw('/v1/var/a', { method, ...(body !== undefined && { body: JSON.stringify(body) }) })).status;
const keys = () => api.get<Key[]>('/v1/operator/keyring/keys');
const active = async (): Promise<string | undefined> => (await keys()).find(({ State }) => State === 'active')?.KeyID;
const collect = async (): Promise<void> =>
  expect(await runCli(api.url, ['system', 'gc'])).toEqual({ code: 0, out: '', err: '' });

it('GC-80, GC-83, GC-85, OP-214: keys rotate by the settings, and system gc removes old ones that nothing uses', async () => {
  const first = await eventually('a variable is written, with a key that is known', async () => {
    const before = await active();
    const isWritten = (await write('PUT', { Items: { a: 'b' } })) === 200;
    return isWritten && before === (await active()) && before;
  });
  const stateOf = async (keyId: string) => (await keys()).find(({ KeyID }) => KeyID === keyId)?.State;
  const second = await eventually('the broker has made the next key active', async () => {
    const now = await active();
    return now !== first && now;
  });
  await eventually('and the one after it', async () => (await stateOf(second)) === 'inactive');
  expect(await stateOf(first)).toBe('inactive');

  await collect();
  await eventually('the unused one is gone', async () => (await stateOf(second)) === undefined);
  expect(await stateOf(first)).toBe('inactive');

  expect(await write('DELETE')).toBe(204);
  await collect();
  await eventually('nothing uses the first one any more', async () => (await stateOf(first)) === undefined);
  expect(await active()).toBeDefined();
}, 120_000);
