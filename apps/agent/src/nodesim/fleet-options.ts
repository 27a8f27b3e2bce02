/** FleetOptions describes a fleet of simulated machines and its failures. */
export interface FleetOptions {
  readonly nodes: number;
  /**
   * The seed of the identities. The same seed gives the same machines, so a restarted fleet consists of the same nodes.
   */
  readonly seed: string;
  /** The prefix of names: `<namePrefix>-<number>`. */
  readonly namePrefix: string;
  /** The datacenters, over which machines are spread in turn. */
  readonly datacenters: readonly string[];
  readonly nodePool: string;
  readonly nodeClass: string;
  readonly cpuMhz: number;
  readonly memoryMB: number;
  readonly diskMB: number;
  /** The number of machines started per second. */
  readonly startPerSecond: number;
  /** The longest delay of one request in milliseconds. Each request is delayed by a random part of it. */
  readonly latencyMs: number;
  /** The share of requests without an answer, in [0, 1]. Half of them arrive nevertheless. */
  readonly loss: number;
  /** The share of task starts that fail, in [0, 1]. */
  readonly taskFailures: number;
  /** The number of machines that are cut off per minute. */
  readonly cutsPerMinute: number;
  /** The time in seconds for which a machine is cut off. */
  readonly cutSeconds: number;
  /** The number of machines that are cut off together, once, for the same time. */
  readonly outageNodes: number;
  /** The time of that outage in seconds from the start of the fleet. */
  readonly outageAfterSeconds: number;
}

/** The largest number of machines of one process. Each costs some kilobytes, a waiting request and three timers. */
export const MAX_NODES = 50_000;

export const DEFAULT_FLEET: FleetOptions = {
  nodes: 100,
  seed: 'nodesim',
  namePrefix: 'sim',
  datacenters: ['dc1'],
  nodePool: 'default',
  nodeClass: '',
  cpuMhz: 8_000,
  memoryMB: 16_384,
  diskMB: 100_000,
  startPerSecond: 500,
  latencyMs: 0,
  loss: 0,
  taskFailures: 0,
  cutsPerMinute: 0,
  cutSeconds: 60,
  outageNodes: 0,
  outageAfterSeconds: 60,
};

/** FleetOptionError says that an option is invalid or out of its range. */
export class FleetOptionError extends Error {
  override readonly name = 'FleetOptionError';
}

interface NumberOption {
  readonly min: number;
  readonly max: number;
  readonly isWhole?: boolean;
  readonly help: string;
}
type NumberName = { [K in keyof FleetOptions]: FleetOptions[K] extends number ? K : never }[keyof FleetOptions];

const NUMBERS: Readonly<Record<NumberName, NumberOption>> = {
  nodes: { min: 1, max: MAX_NODES, isWhole: true, help: 'machines' },
  cpuMhz: { min: 1, max: 1e7, isWhole: true, help: 'MHz of each' },
  memoryMB: { min: 1, max: 1e8, isWhole: true, help: 'memory of each, MB' },
  diskMB: { min: 1, max: 1e9, isWhole: true, help: 'disk of each, MB' },
  startPerSecond: { min: 0.1, max: MAX_NODES, help: 'machines started per second' },
  latencyMs: { min: 0, max: 60_000, help: 'longest delay of a request, ms' },
  loss: { min: 0, max: 1, help: 'part of the requests without answer, 0 to 1' },
  taskFailures: { min: 0, max: 1, help: 'part of the task starts that fail, 0 to 1' },
  cutsPerMinute: { min: 0, max: MAX_NODES, help: 'machines cut off per minute' },
  cutSeconds: { min: 1, max: 86_400, help: 'how long each stays cut off, s' },
  outageNodes: { min: 0, max: MAX_NODES, isWhole: true, help: 'machines cut off together, once' },
  outageAfterSeconds: { min: 1, max: 86_400, help: 'when that is, s from the start' },
};
const TEXTS: Readonly<Record<'seed' | 'namePrefix' | 'datacenters' | 'nodePool' | 'nodeClass', string>> = {
  seed: 'the same seed, the same machines',
  namePrefix: 'names are <prefix>-<number>',
  datacenters: 'with commas between',
  nodePool: 'pool of the machines',
  nodeClass: 'class of the machines',
};

const flagOf = (name: string): string => name.replaceAll(/MB|[A-Z]/g, (part) => `-${part.toLowerCase()}`);

/** The flags in the format of Node's `parseArgs`. */
export const FLEET_FLAGS: Readonly<Record<string, { readonly type: 'string' }>> = Object.fromEntries(
  [...Object.keys(NUMBERS), ...Object.keys(TEXTS)].map((name) => [flagOf(name), { type: 'string' } as const]),
);

/** GivenFlags are the flags of the command line, by name. */
export type GivenFlags = Readonly<Record<string, string | boolean | undefined>>;

/** Parses the flags. @throws FleetOptionError */
export function fleetOptions(given: GivenFlags): FleetOptions {
  const text = (name: keyof typeof TEXTS) => {
    const value = given[flagOf(name)];
    return typeof value === 'string' ? value : undefined;
  };
  const numbers = Object.fromEntries(
    Object.entries(NUMBERS).map(([name, rule]) => {
      const value = given[flagOf(name)];
      return [name, value === undefined ? DEFAULT_FLEET[name as NumberName] : numberOf(name, String(value), rule)];
    }),
  ) as Record<NumberName, number>;
  const datacenters = text('datacenters')?.split(',').filter(Boolean) ?? DEFAULT_FLEET.datacenters;
  if (datacenters.length === 0) throw new FleetOptionError('--datacenters names none');
  return {
    ...numbers,
    datacenters,
    seed: text('seed') ?? DEFAULT_FLEET.seed,
    namePrefix: text('namePrefix') ?? DEFAULT_FLEET.namePrefix,
    nodePool: text('nodePool') ?? DEFAULT_FLEET.nodePool,
    nodeClass: text('nodeClass') ?? DEFAULT_FLEET.nodeClass,
  };
}

function numberOf(name: string, text: string, { min, max, isWhole }: NumberOption): number {
  const value = Number(text);
  const fits = text.trim() !== '' && value >= min && value <= max && (!isWhole || Number.isInteger(value));
  if (fits) return value;
  throw new FleetOptionError(
    `--${flagOf(name)} ${text}: ${isWhole ? 'a whole number' : 'a number'} from ${min} to ${max} is needed`,
  );
}

/** Returns the list of options for the help text. */
export function describeFleetOptions(): string {
  const rows = [...Object.entries(NUMBERS).map(([name, { help }]) => [name, help] as const), ...Object.entries(TEXTS)];
  return rows
    .map(([name, help]) => {
      const fallback = String(DEFAULT_FLEET[name as keyof FleetOptions]);
      return `  --${flagOf(name).padEnd(22)}${help}${fallback === '' ? '' : ` (${fallback})`}`;
    })
    .join('\n');
}
