import type { Cluster } from '../cluster.js';
import { InvariantError, type Report } from '../checks/violation.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import { passOn, type Request } from '../world/region-forwarding.js';
import type { RegionLink } from '../world/region-link.js';
import type { Server } from '../world/server.js';
import type { Written } from '../world/user-api.js';

/** What a user may be told when things are broken, or when what is asked does not fit the state. */
const ANSWERS = new Set([
  'ConnectionLostError',
  'LogUnavailableError',
  'NotHolderError',
  'ProjectionBehindError',
  'Refusal',
  'RpcError',
  'RpcUnavailableError',
  'SetAsideError',
]);
/** Texts of defects, whatever error carries them over the network. */
const DEFECT = /is not a function|Cannot read propert|is not defined|is not iterable|undefined \(reading/;

/** Users receive outages and refusals, never defects. */
export function expectAnswer(action: string, error: unknown, report: Report): void {
  if (error instanceof InvariantError) return report(error.invariant, `${action}: ${error.details}`);
  const named = error instanceof Error ? error : new Error(String(error));
  if (!ANSWERS.has(named.name) || DEFECT.test(named.message))
    report('answer', `${action} failed with ${named.name}: ${named.message}`);
}

/** Another region by which what is asked may come, and its link to where it is asked for. */
export interface Detour {
  readonly servers: readonly Server[];
  readonly link: RegionLink;
}

/** Of what is asked in a run of several regions, how much is asked of an API of another one. */
const DETOURS = 0.3;

/** One who asks any server that answers, of this region or by way of another, and remembers what was promised. */
export class User {
  constructor(
    private readonly cluster: Cluster,
    private readonly report: Report,
    private readonly detours: readonly Detour[] = [],
  ) {}

  /** @param ask what is asked; undefined: there is nothing to ask now */
  act(action: string, random: SeededRandom, request: Request): void {
    const askedMs = this.cluster.simulator.nowMs;
    this.asked(random, request)?.then(
      (written) => this.cluster.writes.acknowledged(action, written, askedMs),
      (error: unknown) => this.refused(action, error),
    );
  }

  private asked(random: SeededRandom, request: Request): Promise<Written> | undefined {
    const { servers } = this.cluster;
    const luck = random.fork('detour');
    if (this.detours.length > 0 && luck.chance(DETOURS)) {
      const { servers: near, link } = luck.pick(this.detours);
      return passOn(luck.pick(near), link, servers, request);
    }
    const serving = servers.flatMap((server) => server.userApi ?? []);
    return serving.length === 0 ? undefined : request(random.pick(serving));
  }

  private refused(action: string, error: unknown): void {
    expectAnswer(action, error, this.report);
  }
}
