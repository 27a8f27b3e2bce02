import { type Evaluation, isActiveDeployment } from '@waybill/model';
import type { Applied, Change, Role, Tables } from '@waybill/state';

/**
 * What a holder may have beyond the rows of its state: housekeeping evaluations, of a dozen kinds, which come again while
 * they wait for a worker; deliveries whose end is written already.
 */
const SLACK = 32;

type Stats = Readonly<Record<string, number>>;

/** A server, as far as it is looked at here: its copy of the state, and what it has in memory of each role. */
export interface Holdings {
  readonly name: string;
  readonly state: { readonly tables: Tables } | undefined;
  readonly holdings: ReadonlyMap<Role, Stats>;
}

/** Something that a holder keeps in memory, and what of its state it is made from. */
interface Kept {
  readonly role: Role;
  readonly name: string;
  readonly size: (stats: Stats) => number;
  /** Its size at rest, and while things happen what it may have beside SLACK. */
  readonly natural: (tables: Tables) => number;
  /** While things happen, where it may be more: looked at only when it is. */
  readonly most?: (tables: Tables, log: readonly Applied[]) => number;
  /** It stays for a while after it has nothing to do. */
  readonly lingers?: true;
}

const of =
  (...names: readonly string[]) =>
  (stats: Stats): number =>
    names.reduce((sum, name) => sum + (stats[name] ?? Number.NaN), 0);

const count = <T>(rows: Iterable<T>, counts: (row: T) => boolean = () => true): number => {
  let found = 0;
  for (const row of rows) if (counts(row)) found++;
  return found;
};

const pendingEvaluations = ({ evals }: Tables): number => evals.count('status', 'pending');

/** Those that a purge has ended are kept until each one's turn comes, also when they are collected before (EB-337). O(log). */
const pendingOrPurged = (tables: Tables, log: readonly Applied[]): number =>
  pendingEvaluations(tables) + count(tables.evals.by('status', 'complete'), endedByPurge) + purgedAndCollected(log);

const purgedAndCollected = (log: readonly Applied[]): number =>
  log.reduce((sum, { changes }) => sum + count(changes, isPurgedAndCollected), 0);

const isPurgedAndCollected = ({ table, before, after }: Change): boolean =>
  table === 'evals' && before !== undefined && !after && endedByPurge(before);

const endedByPurge = ({ JobID, StatusDescription }: Evaluation): boolean =>
  StatusDescription === `job ${JobID} deleted`;

const KEPT: readonly Kept[] = [
  {
    role: 'broker',
    name: 'evaluations in the broker',
    size: of('totalReady', 'totalUnacked', 'totalPending', 'totalWaiting'),
    natural: pendingEvaluations,
    most: pendingOrPurged,
  },
  {
    role: 'broker',
    name: 'blocked evaluations',
    size: of('totalBlocked'),
    natural: ({ evals }) => evals.count('status', 'blocked'),
  },
  {
    role: 'broker',
    name: 'evaluations to be canceled',
    size: of('totalCancelable'),
    natural: () => 0,
    most: pendingOrPurged,
  },
  { role: 'broker', name: 'plans in the queue', size: of('planQueueDepth'), natural: () => 0 },
  {
    role: 'nodes',
    name: 'heartbeat deadlines',
    size: of('trackedNodes'),
    natural: ({ nodes }) => count(nodes.all(), ({ Status }) => Status !== 'down' && Status !== 'disconnected'),
    most: ({ nodes }) => nodes.size,
  },
  {
    role: 'nodes',
    name: 'drains',
    size: of('drainingNodes'),
    natural: ({ nodes }) => count(nodes.all(), ({ DrainStrategy }) => DrainStrategy !== null),
  },
  {
    role: 'nodes',
    name: 'jobs of drained nodes',
    size: of('drainingJobs'),
    natural: () => 0,
    most: ({ jobs }) => jobs.size,
  },
  {
    role: 'nodes',
    name: 'node evaluations to come',
    size: of('awaitingEvaluations'),
    natural: () => 0,
    most: ({ nodes }) => nodes.size,
  },
  {
    role: 'deployments',
    name: 'watched deployments',
    size: of('watched'),
    natural: ({ deployment }) => count(deployment.all(), isActiveDeployment),
  },
  {
    role: 'volumes',
    name: 'volumes that are worked on',
    size: of('workers'),
    natural: ({ csi_volumes }) => csi_volumes.size,
    lingers: true,
  },
];

/**
 * In words, what is larger than what it is made from; undefined: nothing. Looked at while things happen.
 * @param log what was applied so far
 */
export function tooLarge(servers: readonly Holdings[], log: readonly Applied[]): string | undefined {
  return wrongSize(
    servers,
    (size, { natural, most = natural }, tables) => size > natural(tables) + SLACK && size > most(tables, log) + SLACK,
  );
}

/** In words, what has not the size it must have when nothing happens, a holder's or of one that is none; undefined: all have. */
export function notAtRest(servers: readonly Holdings[]): string | undefined {
  return wrongSize(servers, (size, { natural, lingers }, tables) =>
    lingers ? size > natural(tables) + SLACK : size !== natural(tables),
  );
}

function wrongSize(
  servers: readonly Holdings[],
  isWrong: (size: number, kept: Kept, tables: Tables) => boolean,
): string | undefined {
  for (const { name: server, state, holdings } of servers)
    for (const kept of KEPT) {
      const stats = holdings.get(kept.role);
      if (!state || !stats) continue;
      const size = kept.size(stats);
      const isHolder = stats['holder'] === 1;
      const expected = isHolder ? kept.natural(state.tables) : 0;
      if (isHolder ? isWrong(size, kept, state.tables) : !(size === 0))
        return `${kept.name}: ${server} has ${size}, its state makes them ${expected}`;
    }
  return undefined;
}
