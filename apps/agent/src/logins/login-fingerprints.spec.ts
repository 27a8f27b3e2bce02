import { FakeTime } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { LocalNode } from '../machine/node/local-node.js';
import { FAILED_LOOKS, LOOK_PERIOD_MS, LoginFingerprints } from './login-fingerprints.js';

function setup() {
  const time = new FakeTime();
  const node = new LocalNode(fixtures.aNode({ Attributes: { 'kernel.name': 'linux' } }));
  let found: Record<string, string> | undefined = { 'vault.version': '1.14.1' };
  let looks = 0;
  let changes = 0;
  node.onChange(() => changes++);
  const look = async (): Promise<Record<string, string>> => {
    looks++;
    if (!found) throw new Error('away');
    return found;
  };
  const servers = [{ name: 'Vault "default"', look }];
  const watch = new LoginFingerprints({ servers, node, timers: time, random: () => 0.5, logger: silentLogger });
  return {
    time,
    watch,
    becomes: (now: Record<string, string> | undefined) => void (found = now),
    attributes: () => node.current.Attributes,
    looks: () => looks,
    changes: () => changes,
  };
}

it('AU-164: the machine says what it finds, and changes with it', async () => {
  const { time, watch, becomes, attributes, changes, looks } = setup();
  watch.start();
  await time.pass(0);
  expect(attributes()).toEqual({ 'kernel.name': 'linux', 'vault.version': '1.14.1' });
  await time.pass(LOOK_PERIOD_MS);
  expect([looks(), changes()]).toEqual([2, 1]);
  becomes({ 'vault.version': '1.15.0' });
  await time.pass(LOOK_PERIOD_MS);
  expect(attributes()).toEqual({ 'kernel.name': 'linux', 'vault.version': '1.15.0' });
});

it('AU-164: a server that is away for three looks is no longer an attribute of the machine, until it is back', async () => {
  const { time, watch, becomes, attributes } = setup();
  watch.start();
  await time.pass(0);
  becomes(undefined);
  await time.pass(LOOK_PERIOD_MS * (FAILED_LOOKS - 1));
  expect(attributes()['vault.version']).toBe('1.14.1');
  await time.pass(LOOK_PERIOD_MS);
  expect(attributes()).toEqual({ 'kernel.name': 'linux' });
  becomes({ 'vault.version': '1.14.1' });
  await time.pass(LOOK_PERIOD_MS);
  expect(attributes()['vault.version']).toBe('1.14.1');
});

it('AU-164: a stopped watch asks no more', async () => {
  const { time, watch, looks } = setup();
  watch.start();
  await time.pass(0);
  watch.stop();
  await time.pass(10 * LOOK_PERIOD_MS);
  expect(looks()).toBe(1);
});
