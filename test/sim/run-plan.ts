import { ACCESS_WORKLOAD, FIRST_ACCESS_EVENTS, isWithReaders } from './access/access-plan.js';
import { FAULTS, POWER_FAULTS } from './faults/faults.js';
import { HOSTILE_FAULTS } from './faults/hostile-machine.js';
import { REGION_FAULTS } from './faults/region-faults.js';
import { KEY_ACTIONS } from './keys/key-actions.js';
import { stretched } from './keys/keys-plan.js';
import { SeededRandom } from './kernel/seeded-random.js';
import { ACTIONS, ACTIONS_IN_REGIONS } from './workload/actions.js';
import { VARIABLE_ACTIONS } from './workload/variable-actions.js';

/** Something that is to happen in a run: what it is, when, and the luck with which it picks whom it is about. */
export interface PlannedEvent {
  readonly atMs: number;
  readonly kind: 'action' | 'fault';
  readonly name: string;
  readonly luck: string;
}

export interface RunSize {
  /** Of each region. */
  readonly servers: number;
  /** Of all regions together. */
  readonly machines: number;
  readonly actions: number;
  readonly regions: 1 | 2;
  /** Access control is on, and users read: access/. */
  readonly access?: boolean;
  /** The keyring is on, and clients use variables, locks and root keys: keys/. */
  readonly keys?: boolean;
}

/** Before it is known how many regions a seed has. */
export type AnySize = Omit<RunSize, 'regions'> & Partial<Pick<RunSize, 'regions'>>;

/** A run before it is run; leaving events out of it changes nothing about the others. */
export interface RunPlan extends RunSize {
  readonly seed: number;
  readonly events: readonly PlannedEvent[];
}

/** The short run that throughput is measured with. */
export const SHORT_RUN: AnySize = { servers: 3, machines: 20, actions: 200 };

/** For the test suite: the same kinds of things happen, to a smaller cluster. */
export const SMALL_RUN: AnySize = { servers: 3, machines: 6, actions: 40 };

/** Time for the first leaders and machines to be there before anything happens, milliseconds. */
const SETTLE_MS = 4_000;
/** Mean time between two actions of users, milliseconds; each run is busier or slower. */
const PACE_MS = [300, 900] as const;
/** Mean time between two faults, milliseconds; each run is quieter or wilder. */
const FAULT_PACE_MS = 3_500;

/** Every so many seeds have two regions. */
const TWO_REGIONS_EVERY = 8;

const EVENTS = {
  1: { actions: ACTIONS, faults: FAULTS },
  2: { actions: ACTIONS_IN_REGIONS, faults: { ...FAULTS, ...REGION_FAULTS } },
} as const;

type Catalogue = Readonly<Record<string, readonly [weight: number, what: unknown]>>;

export function planOf(seed: number, size: AnySize = SHORT_RUN): RunPlan {
  const { regions = seed % TWO_REGIONS_EVERY === 0 && !size.access && !size.keys ? 2 : 1 } = size;
  const { actions, faults } = EVENTS[regions];
  const random = new SeededRandom(`plan ${seed}`);
  const events: PlannedEvent[] = [];
  const paceMs = random.between(...PACE_MS);
  let atMs = SETTLE_MS;
  for (let n = 0; n < size.actions; n++) {
    atMs += waitOf(random, paceMs);
    events.push({ atMs, kind: 'action', name: pickWeighted(actions, random), luck: `${seed} action ${n}` });
  }
  const end = atMs;
  const wildness = random.between(0.3, 2);
  const kinds = someOf(faults, random);
  for (let n = 0, at = SETTLE_MS; ; n++) {
    at += waitOf(random, FAULT_PACE_MS / wildness);
    if (at > end) break;
    events.push({ atMs: at, kind: 'fault', name: pickWeighted(kinds, random), luck: `${seed} fault ${n}` });
  }
  if (!size.keys) events.push(...variableEvents(seed, size, end));
  events.push(...hostileEvents(seed, end), ...powerEvents(seed, end));
  if (size.keys) return { ...size, regions, seed, events: keyEvents(seed, size, events, end) };
  const all = size.access ? [...events.filter(isWithReaders), ...accessEvents(seed, size, end)] : events;
  return { ...size, regions, seed, events: all.toSorted((a, b) => a.atMs - b.atMs) };
}

/** In a run of so many seeds users have variables; the others stay as quick as they are. */
const VARIABLES_EVERY = 3;
/** Of the other actions, how many times as many. */
const VARIABLE_SHARE = 0.5;

/** By luck of their own, so that they shift nothing else of the plan. */
function variableEvents(seed: number, { actions }: Pick<RunSize, 'actions'>, endMs: number): PlannedEvent[] {
  if (seed % VARIABLES_EVERY !== 0) return [];
  const random = new SeededRandom(`plan of variables ${seed}`);
  return eventsUntil(endMs, random, Math.round(actions * VARIABLE_SHARE), (n) => ({
    kind: 'action',
    name: pickWeighted(VARIABLE_ACTIONS, random),
    luck: `${seed} variable ${n}`,
  }));
}

/** In a run of so many seeds somebody takes machines over. */
const HOSTILE_EVERY = 5;
const MOST_TAKEN_OVER = 3;

/** By luck of their own too. */
function hostileEvents(seed: number, endMs: number): PlannedEvent[] {
  if (seed % HOSTILE_EVERY !== 0) return [];
  const random = new SeededRandom(`plan of lies ${seed}`);
  return eventsUntil(endMs, random, 1 + random.below(MOST_TAKEN_OVER), (n) => ({
    kind: 'fault',
    name: pickWeighted(HOSTILE_FAULTS, random),
    luck: `${seed} lie ${n}`,
  }));
}

/** In a run of so many seeds NATS loses power. */
const POWER_LOST_EVERY = 4;
const MOST_POWER_CUTS = 3;

/** By luck of their own too. */
function powerEvents(seed: number, endMs: number): PlannedEvent[] {
  if (seed % POWER_LOST_EVERY !== 1) return [];
  const random = new SeededRandom(`plan of power cuts ${seed}`);
  return eventsUntil(endMs, random, 1 + random.below(MOST_POWER_CUTS), (n) => ({
    kind: 'fault',
    name: pickWeighted(POWER_FAULTS, random),
    luck: `${seed} power cut ${n}`,
  }));
}

/** Of the other actions, how many times as many. Most are reads. */
const ACCESS_SHARE = 6;

const BETWEEN_FIRST_MS = 100;

/** By luck of their own too. */
function accessEvents(seed: number, { actions }: Pick<RunSize, 'actions'>, endMs: number): PlannedEvent[] {
  const random = new SeededRandom(`plan of access ${seed}`);
  const first = FIRST_ACCESS_EVENTS.map((name, n): PlannedEvent => {
    return { atMs: SETTLE_MS + n * BETWEEN_FIRST_MS, kind: 'action', name, luck: `${seed} first access ${n}` };
  });
  const others = eventsUntil(endMs, random, actions * ACCESS_SHARE, (n) => ({
    kind: 'action',
    name: pickWeighted(ACCESS_WORKLOAD, random),
    luck: `${seed} access ${n}`,
  }));
  return [...first, ...others];
}

/** Of the other actions, how many times as many. */
const KEYS_SHARE = 4;

/** By luck of their own too, and all of the run over a longer time. */
function keyEvents(
  seed: number,
  { actions }: Pick<RunSize, 'actions'>,
  events: readonly PlannedEvent[],
  endMs: number,
) {
  const random = new SeededRandom(`plan of keys ${seed}`);
  const others = eventsUntil(endMs, random, actions * KEYS_SHARE, (n) => ({
    kind: 'action',
    name: pickWeighted(KEY_ACTIONS, random),
    luck: `${seed} key ${n}`,
  }));
  return stretched([...events, ...others], random, SETTLE_MS).toSorted((a, b) => a.atMs - b.atMs);
}

/** So many, at any time. */
function eventsUntil(
  endMs: number,
  random: SeededRandom,
  count: number,
  eventOf: (n: number) => Omit<PlannedEvent, 'atMs'>,
): PlannedEvent[] {
  return Array.from({ length: count }, (_, n) => ({
    atMs: Math.round(random.between(SETTLE_MS, endMs)),
    ...eventOf(n),
  }));
}

/** Exponentially distributed, whole milliseconds. */
const waitOf = (random: SeededRandom, meanMs: number): number => Math.ceil(-Math.log(1 - random.next()) * meanMs);

/** A run with few kinds of faults gets deeper into them than one with all. */
function someOf(catalogue: Catalogue, random: SeededRandom): Catalogue {
  const share = random.between(0.2, 1);
  const kept = Object.entries(catalogue).filter(() => random.chance(share));
  return kept.length > 0 ? Object.fromEntries(kept) : catalogue;
}

function pickWeighted(catalogue: Catalogue, random: SeededRandom): string {
  const entries = Object.entries(catalogue);
  let left = random.next() * entries.reduce((sum, [, [weight]]) => sum + weight, 0);
  for (const [name, [weight]] of entries) if ((left -= weight) < 0) return name;
  return entries[0]?.[0] ?? '';
}
