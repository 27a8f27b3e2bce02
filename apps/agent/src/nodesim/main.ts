import { errorText } from '@waybill/model';
import { parseArgs } from 'node:util';
import { connect } from '@waybill/journal';
import { NatsRpc, onNodesChanged } from '@waybill/rpc';
import { newUuid, systemClock, systemTimers } from '@waybill/service';
import { createLogger, silentLogger, tracerFor } from '@waybill/telemetry';
import { SimulatedFleet } from './fleet.js';
import { describeFleetOptions, FLEET_FLAGS, FleetOptionError, fleetOptions, type GivenFlags } from './fleet-options.js';

/** The interval in milliseconds between two lines about the fleet. */
const REPORT_EVERY_MS = 5_000;
const EXIT_USAGE = 64;

const USAGE = `usage: npm run nodesim -- [options]

Runs many machines in one process against a Waybill that is there already: real agents with the mock driver.

  --nats-url            NATS of the control plane (WAYBILL_NATS_URL, else nats://127.0.0.1:4222)
  --region              region of the machines (global)
  --verbose             what every agent logs
${describeFleetOptions()}

Ctrl-C ends it: the machines fall silent. See docs/nodesim.md.
`;

function optionsOrExit() {
  try {
    const text = { type: 'string' } as const;
    const flag = { type: 'boolean' } as const;
    const { values } = parseArgs({
      options: { ...FLEET_FLAGS, 'nats-url': text, region: text, verbose: flag, help: flag },
    });
    const given: GivenFlags = values;
    if (given['help'] === true) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    return { fleet: fleetOptions(given), given };
  } catch (error) {
    const isUsage = error instanceof FleetOptionError || (error instanceof TypeError && 'code' in error);
    if (!isUsage) throw error;
    process.stderr.write(`nodesim: ${error.message}\n\n${USAGE}`);
    process.exit(EXIT_USAGE);
  }
}

const { fleet: options, given } = optionsOrExit();
const url = String(given['nats-url'] ?? process.env['WAYBILL_NATS_URL'] ?? 'nats://127.0.0.1:4222');
const credentialsFile = process.env['WAYBILL_NATS_CREDENTIALS'];
const link = await connect({ url, name: 'waybill-nodesim', credentialsFile }).catch((error: unknown) => {
  process.stderr.write(`nodesim: ${errorText(error)}\n`);
  process.exit(1);
});
const fleet = new SimulatedFleet(
  {
    rpc: new NatsRpc(link.nc, link.inboxPrefix),
    clock: systemClock,
    timers: systemTimers,
    newId: newUuid,
    random: Math.random,
    logger: given['verbose'] === true ? createLogger('nodesim', 'info', { format: 'line' }) : silentLogger,
    tracer: () => tracerFor('nodesim'),
    region: String(given['region'] ?? 'global'),
  },
  options,
);

function printStats(): void {
  const s = fleet.stats();
  process.stdout.write(
    `${s.registered}/${options.nodes} machines registered, ${s.cutOff} cut off; ${s.allocations} allocations, ` +
      `${s.running} running; ${s.asked} requests: ${s.answered} answered, ${s.refused} refused, ${s.unanswered} unanswered\n`,
  );
}

process.stdout.write(`${options.nodes} machines of the seed "${options.seed}" against ${url}\n`);
fleet.start();
onNodesChanged(link, () => fleet.serversChanged());
const reporting = setInterval(printStats, REPORT_EVERY_MS);
await new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
});
clearInterval(reporting);
printStats();
await fleet.stop();
await link.close();
