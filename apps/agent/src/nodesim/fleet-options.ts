/** What a fleet of simulated machines is like, and what goes wrong with it. */
export interface FleetOptions {
  readonly nodes: number;
  /** Machines of one seed have the same identities in every run: started again, they are the same nodes come back. */
  readonly seed: string;
  /** Names are `<namePrefix>-<number>`. */
  readonly namePrefix: string;
  /** Machines are spread over these in turn. */
  readonly datacenters: readonly string[];
  readonly nodePool: string;
  readonly nodeClass: string;
  readonly cpuMhz: number;
  readonly memoryMB: number;
  readonly diskMB: number;
  /** Machines started per second. */
  readonly startPerSecond: number;
  /** Longest delay of one request, ms; each is delayed by a random part of it. */
  readonly latencyMs: number;
  /** Part of the requests that get no answer, in [0, 1]; half of them arrive nevertheless. */
  readonly loss: number;
  /** Part of the task starts that fail, in [0, 1]. */
  readonly taskFailures: number;
  /** Machines that are cut off per minute. */
  readonly cutsPerMinute: number;
  /** How long a machine that was cut off stays so, s. */
  readonly cutSeconds: number;
  /** Machines that are cut off together, once, for as long as others. */
  readonly outageNodes: number;
  /** When that is: s from the start of the fleet. */
  readonly outageAfterSeconds: number;
}

/** Machines of one process: each costs some kilobytes, a waiting request and three timers. */
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

/** An option cannot be understood, or is out of its range. */
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

/** Names of the flags, as `parseArgs` of Node wants them. */
export const FLEET_FLAGS: Readonly<Record<string, { readonly type: 'string' }>> = Object.fromEntries(
  [...Object.keys(NUMBERS), ...Object.keys(TEXTS)].map((name) => [flagOf(name), { type: 'string' } as const]),
);

/** Flags as they were typed, by name. */
export type GivenFlags = Readonly<Record<string, string | boolean | undefined>>;

/** @throws FleetOptionError */
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

/** The options as a help text lists them. */
export function describeFleetOptions(): string {
  const rows = [...Object.entries(NUMBERS).map(([name, { help }]) => [name, help] as const), ...Object.entries(TEXTS)];
  return rows
    .map(([name, help]) => {
      const fallback = String(DEFAULT_FLEET[name as keyof FleetOptions]);
      return `  --${flagOf(name).padEnd(22)}${help}${fallback === '' ? '' : ` (${fallback})`}`;
    })
    .join('\n');
}
