// Makes and removes networks of mode `bridge` on the machine that it runs on, without an agent. The last line is JSON.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemTimers } from '@waybill/service';
import { silentLogger } from '@waybill/telemetry';
import { AllocationNetworks, PARALLEL_NETWORKS } from '../apps/agent/dist/networks/allocation-networks.js';
import { NamedNamespaces } from '../apps/agent/dist/networks/network-namespaces.store.js';
import { NetworkRecordStore } from '../apps/agent/dist/networks/network-records.store.js';
import { runProgram } from '../apps/agent/dist/networks/program.transport.js';
import { readKernelSetting } from '../apps/agent/dist/networks/rules/forwarding.store.js';
import { readListeners } from '../apps/agent/dist/networks/rules/listeners.store.js';
import { Iptables } from '../apps/agent/dist/networks/rules/iptables.transport.js';
import { Gate } from '../apps/agent/dist/waiting/gate.js';

const PLUGINS = '/usr/lib/cni';
const SINGLE = Number(process.argv[2]);
const BURST = Number(process.argv[3]);
const dir = mkdtempSync(path.join(tmpdir(), 'waybill-bench-networks-'));
let pluginMs = 0;
let failures = 0;

/** @type {typeof runProgram} */
const run = async (order) => {
  const before = performance.now();
  try {
    return await runProgram(order);
  } finally {
    if (order.file.startsWith(PLUGINS)) pluginMs += performance.now() - before;
  }
};

const networks = new AllocationNetworks({
  run,
  namespaces: new NamedNamespaces(run),
  records: new NetworkRecordStore(dir, silentLogger),
  iptables: new Iptables(run),
  readKernelSetting,
  readListeners,
  timers: systemTimers,
  random: Math.random,
  logger: Object.assign(Object.create(silentLogger), { warn: () => failures++, error: () => failures++ }),
  bridge: { name: 'nomad', subnet: '172.26.64.0/20', subnetIPv6: '', hairpin: false },
  pluginDirectories: [PLUGINS],
  configDirectory: '/nonexistent',
  bindsToAddress: false,
  canCheck: () => false,
  parallel: PARALLEL_NETWORKS,
});

/** @param {string} allocId @param {number} port */
const prepare = (allocId, port) =>
  networks.prepare({
    allocId,
    mode: 'bridge',
    ports: [{ Label: 'http', Value: port, To: 8080, HostIP: '', IgnoreCollision: false }],
    args: '',
    maker: '',
    hostname: '',
    givenUp: new Gate(),
  });

/** @param {() => Promise<unknown>} step */
const timed = async (step) => {
  const before = performance.now();
  await step();
  return performance.now() - before;
};

const singles = [];
for (let n = 0; n < SINGLE; n++) {
  const id = randomUUID();
  pluginMs = 0;
  const ms = await timed(() => prepare(id, 20_000 + n));
  singles.push({ ms, pluginMs });
  await networks.release(id);
}
const ids = Array.from({ length: BURST }, () => randomUUID());
const burstMs = await timed(() => Promise.all(ids.map((id, n) => prepare(id, 21_000 + n))));
const cleanupMs = await timed(() => Promise.all(ids.map((id) => networks.release(id))));
rmSync(dir, { recursive: true, force: true });
process.stdout.write(`${JSON.stringify({ singles, burstMs, cleanupMs, failures })}\n`);
