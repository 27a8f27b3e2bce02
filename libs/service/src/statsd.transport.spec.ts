import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { FakeTime } from '@waybill/model';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { StatsdSender } from './statsd.transport.js';

let server: Socket;
let time: FakeTime;
let warnings: string[];
let asked: number;

beforeEach(async () => {
  server = createSocket('udp4');
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  time = new FakeTime();
  warnings = [];
  asked = 0;
});
afterEach(() => server.close());

function sender(address: string): StatsdSender {
  const lately = async () => ({ gauges: [{ name: 'nomad.g', labels: {}, value: ++asked }], counters: [], samples: [] });
  const logger = { warn: (text: string) => void warnings.push(text) };
  const made = new StatsdSender({ address, intervalMs: 10_000, lately, timers: time, logger });
  made.start();
  return made;
}

it('OP-105: statsd_address gets what there is, once per interval, until it ends', async () => {
  const made = sender(`127.0.0.1:${server.address().port}`);
  for (const value of [1, 2]) {
    const received = once(server, 'message');
    await time.pass(10_000);
    expect(String((await received)[0])).toBe(`nomad.g:${value}|g\n`);
    await vi.waitUntil(() => time.pending === 1); // it waits for the next
  }
  made.stop();
  await time.pass(60_000);
  expect([asked, time.pending]).toEqual([2, 0]);
});

it('OP-105: without an address nothing is asked or sent', async () => {
  const made = sender('');
  await time.pass(60_000);
  expect([asked, time.pending]).toEqual([0, 0]);
  made.stop();
});
