import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AckPolicy, type DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { userKey } from '@waybill/journal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const DOC = readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8');
const EXAMPLE = /^```ts\n(.*?)^```/ms.exec(DOC)![1]!;
/** The `nats consumer add` of the text, its words. */
const CONSUMER = /^ {4}nats (consumer add .*)$/m
  .exec(DOC)![1]!
  .split(/ +/)
  .map((word) => word.replaceAll("'", ''));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('docs/events.md', () => {
  let waybill: WaybillProcesses;
  beforeAll(async () => {
    waybill = await WaybillProcesses.startTogether({}, ['projector', 'api']);
  });
  afterAll(() => waybill?.stop());

  it('EV-72: the example for a plain NATS client reads the events of jobs, and nothing else', async () => {
    const before = await waybill.api.register(shellJob('before', 'true'));
    const seed = path.join(waybill.dir, 'events.seed');
    await userKey(seed);
    // Without a type in it, TypeScript is JavaScript.
    const child = spawn(process.execPath, ['--input-type=module', '-e', EXAMPLE], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], NATS_URL: waybill.stack.natsUrl, NATS_SEED: seed },
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => (out += String(data)));
    child.stderr.on('data', (data) => (err += String(data)));
    try {
      await eventually(`the past is read (${err})`, () => out.includes('before'));
      const after = await waybill.api.register(shellJob('after', 'true'));
      await eventually('and what comes', () => out.includes(`${after.Index} Evaluation`));
      expect(out.trim().split('\n')).toEqual([
        `${before.Index} Job JobRegistered before`,
        `${before.Index} Evaluation JobRegistered ${before.EvalID}`,
        `${after.Index} Job JobRegistered after`,
        `${after.Index} Evaluation JobRegistered ${after.EvalID}`,
      ]);
      expect(err).toBe('');
    } finally {
      child.kill();
    }
  });

  it('the consumer that the nats command makes there gets the frames, with the subject and headers of the table', async () => {
    const { Index, EvalID } = await waybill.api.register(shellJob('by-command', 'true'));
    const option = (name: string): string => CONSUMER[CONSUMER.indexOf(`--${name}`) + 1] ?? '';
    expect(CONSUMER.slice(0, 5)).toEqual(['consumer', 'add', 'EVENTS', 'jobs', '--pull']);
    const nc = await connect({ servers: waybill.stack.natsUrl });
    try {
      await (
        await jetstreamManager(nc)
      ).consumers.add('EVENTS', {
        durable_name: 'jobs',
        ack_policy: option('ack') as AckPolicy,
        deliver_policy: option('deliver') as DeliverPolicy,
        filter_subject: option('filter'),
      });
      const consumer = await jetstream(nc).consumers.get('EVENTS', 'jobs');
      const frame = await eventually('its registration is there', async () => {
        const next = await consumer.next({ expires: 5_000 });
        return next?.headers?.get('Waybill-Index') === String(Index) && next;
      });
      expect(frame.subject).toBe('EVENTS.JobRegister.default');
      expect(Number(frame.headers?.get('Waybill-Time'))).toBeGreaterThan(1e18);
      expect(JSON.parse(frame.headers?.get('Waybill-About') ?? '')).toEqual([
        ['Job', 'default', 'by-command'],
        ['Evaluation', 'default', EvalID, 'by-command', ''],
      ]);
      expect(frame.headers?.has('Waybill-Part')).toBe(false);
      expect(frame.json()).toMatchObject({ Index, Events: [{ Topic: 'Job' }, { Topic: 'Evaluation' }] });
    } finally {
      await nc.close();
    }
  });
});
