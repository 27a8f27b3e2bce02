import { TABLE_NAMES, type TableName } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { Machine } from '../world/machine.js';
import type { Server } from '../world/server.js';
import type { Weather } from '../world/wire.js';

/** Something that breaks, and mends itself after a while. */
export type Fault = (cluster: Cluster, random: SeededRandom) => void;

/** Each with how often it happens, compared with the others. */
export type Faults = Readonly<Record<string, readonly [weight: number, fault: Fault]>>;

/** What breaks in a region. To add one: docs/simulation.md. */
export const FAULTS: Faults = {
  'server dies': [
    6,
    (cluster, random) => {
      const server = random.pick(cluster.servers);
      server.kill();
      later(cluster, random.between(200, 40_000), 'server starts', () => server.start());
    },
  ],
  'server stands still': [
    6,
    (cluster, random) => random.pick(cluster.servers).running?.pause(random.between(500, 25_000)),
  ],
  'replica lags': [8, (cluster, random) => random.pick(cluster.servers).running?.stall(random.between(200, 15_000))],
  'server cut off': [
    6,
    (cluster, random) => cutOff(cluster, random.pick(cluster.servers).name, random.between(500, 30_000)),
  ],
  'NATS restarts': [
    2,
    (cluster, random) => {
      cluster.world.wire.setNats(false);
      later(cluster, random.between(200, 8_000), 'NATS is back', () => cluster.world.wire.setNats(true));
    },
  ],
  'NATS forgets ids': [
    2,
    (cluster, random) => {
      cluster.world.stream.forgetsIds = true;
      later(cluster, random.between(1_000, 20_000), 'NATS remembers', () => (cluster.world.stream.forgetsIds = false));
    },
  ],
  'Postgres restarts': [
    2,
    (cluster, random) => {
      cluster.world.postgres.isUp = false;
      later(cluster, random.between(500, 15_000), 'Postgres is back', () => (cluster.world.postgres.isUp = true));
    },
  ],
  'Postgres refuses rows': [
    3,
    (cluster, random) => {
      const { postgres } = cluster.world;
      const every = Math.floor(random.between(3, 12));
      const tables = new Set<TableName>(TABLE_NAMES.filter((table) => table !== 'leases' && random.chance(0.5)));
      postgres.refuses = (table, key) => tables.has(table) && hashOf(key) % every === 0;
      later(cluster, random.between(1_000, 40_000), 'Postgres takes rows again', () => postgres.mend());
    },
  ],
  'messages are lost': [4, (cluster, random) => weather(cluster, random, { loss: random.between(0.02, 0.3) })],
  'messages are slow': [6, (cluster, random) => weather(cluster, random, { slow: random.between(0.05, 0.4) })],
  'calls repeat': [4, (cluster, random) => weather(cluster, random, { repeat: random.between(0.05, 0.5) })],
  'acknowledgements are lost': [
    6,
    (cluster, random) => weather(cluster, random, { ackLoss: random.between(0.05, 0.5) }),
  ],
  'queries fail': [3, (cluster, random) => weather(cluster, random, { databaseError: random.between(0.05, 0.4) })],
  'checks fail': [3, (cluster, random) => weather(cluster, random, { checkFailure: random.between(0.1, 0.9) })],
  'plugins fail': [4, (cluster, random) => weather(cluster, random, { pluginError: random.between(0.05, 0.5) })],
  'plugins are slow': [3, (cluster, random) => weather(cluster, random, { pluginSlow: random.between(0.1, 0.8) })],
  'machine dies': [
    8,
    (cluster, random) => {
      const machine = random.pick(cluster.machines);
      machine.powerOff();
      later(cluster, random.between(1_000, 90_000), 'machine starts', () => machine.powerOn());
    },
  ],
  'agent restarts': [
    6,
    (cluster, random) => {
      const machine = random.pick(cluster.machines);
      machine.killAgent();
      later(cluster, random.between(200, 30_000), 'agent starts', () => machine.startAgent());
    },
  ],
  'machine cut off': [
    8,
    (cluster, random) => cutOff(cluster, random.pick(cluster.machines).name, random.between(1_000, 90_000)),
  ],
  'machine stands still': [
    3,
    (cluster, random) => random.pick(cluster.machines).running?.pause(random.between(1_000, 60_000)),
  ],
  'tasks crash': [
    8,
    (cluster, random) => {
      const machine = random.pick(cluster.machines);
      for (const task of machine.runningTasks) if (random.chance(0.6)) machine.crashTask(task);
    },
  ],
  'clock of a machine jumps': [3, (cluster, random) => setWrong(cluster, random.pick(cluster.machines), random)],
  'clock jumps': [3, (cluster, random) => setWrong(cluster, random.pick(cluster.servers), random)],
};

/** Planned beside the others, because each run that has one waits for an operator. */
export const POWER_FAULTS: Faults = { 'NATS loses power': [1, (cluster, random) => losePower(cluster, random)] };

/** nats-server's `sync_interval`, milliseconds: a power cut may lose the writes of this time. */
const UNSYNCED_MS = 100;
const MOST_UNSYNCED_PARTS = 3;

/** NATS comes back without the transactions and events that it had not synced, and an operator looks. */
function losePower(cluster: Cluster, random: SeededRandom): void {
  const { wire, stream, events } = cluster.world;
  if (!wire.isNatsUp) return;
  wire.setNats(false);
  stream.loseSince(cluster.simulator.nowMs - random.between(0, UNSYNCED_MS));
  events.loseLast(random.below(MOST_UNSYNCED_PARTS));
  later(cluster, random.between(200, 8_000), 'NATS is back', () => wire.setNats(true));
  cluster.operator.look();
}

/** How far a wall clock is set off, milliseconds: a little, half a minute, an hour, a day. */
const CLOCK_OFFSETS_MS = [5_000, 90_000, 3_600_000, 86_400_000];
/** The most that a wrong clock drifts, milliseconds per millisecond. */
const MAX_CLOCK_DRIFT = 0.001;
/** Half of the wrong clocks are set right after so long. */
const CLOCK_WRONG_MS = [1_000, 60_000] as const;

/** Sets the wall clock of a server or a machine wrong, and in half of the cases right again later. */
function setWrong(cluster: Cluster, whose: Machine | Server, random: SeededRandom): void {
  const mostMs = random.pick(CLOCK_OFFSETS_MS);
  whose.setClock(random.between(-mostMs, mostMs), random.between(-MAX_CLOCK_DRIFT, MAX_CLOCK_DRIFT));
  if (random.chance(0.5))
    later(cluster, random.between(...CLOCK_WRONG_MS), `the clock of ${whose.name} is set right`, () =>
      whose.setClock(0, 0),
    );
}

/** Of a key, the same in every run. */
function hashOf(key: string): number {
  let hash = 0;
  for (const char of key) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003;
  return hash;
}

function later(cluster: Cluster, delayMs: number, label: string, run: () => void): void {
  cluster.simulator.schedule(delayMs, label, run);
}

function cutOff(cluster: Cluster, name: string, forMs: number): void {
  const { wire } = cluster.world;
  wire.cut(name);
  later(cluster, forMs, `${name} is connected again`, () => wire.heal(name));
}

/** The weather turns, and back after a while. */
function weather(cluster: Cluster, random: SeededRandom, change: Partial<Weather>): void {
  const { wire } = cluster.world;
  Object.assign(wire.weather, change);
  later(cluster, random.between(1_000, 30_000), 'the weather is better', () => {
    for (const name of Object.keys(change) as (keyof Weather)[]) wire.weather[name] = 0;
  });
}
