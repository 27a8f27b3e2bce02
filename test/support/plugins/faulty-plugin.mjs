// A driver that misbehaves as its first argument says. Faults of the handshake come before anything else.
import { renameSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { driverService, servePlugin, TaskNotFoundError } from '@waybill/plugin-sdk';

const fault = process.argv[2] ?? '';
/** The name of the driver. */
const name = process.argv[3] ?? 'faulty';
/** The marks of tasks whose start took its time. */
const slow = new Map();
const forever = () => new Promise(() => setInterval(() => {}, 60_000));

/** @type {import('@waybill/plugin-sdk').DriverPlugin} */
const driver = {
  name,
  version: '0.1.0',
  taskSchema: { object: { attributes: {} } },
  start: async ({ id, directory }) => {
    if (fault === 'dies-at-start') process.exit(3);
    if (fault === 'starts-slowly') {
      writeFileSync(`${directory}/starting`, '');
      await pause(1_000);
      slow.set(id, `${directory}/runs`);
      writeFileSync(`${directory}/runs`, '');
    }
    if (fault === 'hangs-at-start') await forever();
    return { state: { id } };
  },
  recover: async () => {},
  wait: () => new Promise(() => {}),
  stop: async () => {
    if (fault === 'dies-at-stop') process.exit(4);
  },
  destroy: async (id) => {
    if (fault !== 'starts-slowly') return;
    const runs = slow.get(id);
    if (runs === undefined) throw new TaskNotFoundError();
    renameSync(runs, `${runs}-no-more`);
  },
};

/** @type {Record<string, () => Promise<void> | void>} */
const beforeHandshake = {
  'prints-first': () => void process.stdout.write('warning: this library is old\n'),
  exits: () => process.exit(7),
  hangs: forever,
  'core-version': () => void process.stdout.write('9|2|unix|/nowhere|grpc|\n'),
  'app-version': () => void process.stdout.write('1|7|unix|/nowhere|grpc|\n'),
  'wrong-socket': () => void process.stdout.write('1|2|unix|/nowhere/plugin|grpc|\n'),
  certificate: () => void process.stdout.write(`1|2|unix|/nowhere|grpc|${'A'.repeat(600)}\n`),
  'floods-stderr': () => void process.stderr.write('x'.repeat(1024 * 1024)),
};
await beforeHandshake[fault]?.();

const service = { ...driverService(driver) };
if (fault === 'floods-events')
  service.TaskEvents = async (/** @type {any} */ call) => {
    for (let n = 0; !call.cancelled; n++) {
      const event = { task_id: 'unknown', alloc_id: 'unknown', task_name: 'unknown', message: `event ${n}` };
      if (!call.write(event)) await pause(0);
    }
  };
if (fault === 'ends-fingerprint')
  service.Fingerprint = (/** @type {any} */ call) => {
    call.write({ health: 'HEALTHY', health_description: 'as of now', attributes: {} });
    call.end();
  };

const base = fault === 'lies-about-versions' ? { PluginInfo: versions(['v9.0.0']) } : {};
/** @param {string[]} offered */
function versions(offered) {
  return (/** @type {any} */ _call, /** @type {any} */ done) =>
    done(null, { type: 'DRIVER', plugin_api_versions: offered, plugin_version: '0.1.0', name });
}

if (fault === 'refuses-fingerprint')
  service.Fingerprint = (/** @type {any} */ call) => {
    call.write({ health: 'HEALTHY', attributes: { 'driver.speed': { string_val: 'fast', unit: 'MHz' } } });
    call.end();
  };
if (fault === 'refuses-events') service.TaskEvents = (/** @type {any} */ call) => void call.end();
if (fault === 'wrong-schema')
  service.TaskConfigSchema = (/** @type {any} */ _call, /** @type {any} */ done) =>
    done(null, { spec: { object: { attributes: { a: { Attr: { type: 'nothing(' } } } } } });

await servePlugin(driver, 'DRIVER', { driver: service, ...(fault === 'lies-about-versions' && { base }) });
if (fault === 'ends-on-interrupt') process.on('SIGINT', () => process.exit(0));
if (fault === 'floods-stdout') process.stdout.write('y'.repeat(1024 * 1024));
if (fault === 'dies-later') setTimeout(() => process.exit(9), 200);
