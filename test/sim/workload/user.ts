import type { Cluster } from '../cluster.js';
import type { Report } from '../checks/violation.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { UserApi, Written } from '../world/user-api.js';

/** What a user may be told when things are broken, or when what is asked does not fit the state. */
const ANSWERS = new Set([
  'ApiError',
  'ConflictError',
  'ConnectionLostError',
  'LogUnavailableError',
  'ProjectionBehindError',
  'RpcError',
  'RpcUnavailableError',
]);
/** Texts of defects, whatever error carries them over the network. */
const DEFECT = /is not a function|Cannot read propert|is not defined|is not iterable|undefined \(reading/;

/** One who asks any server that answers, and remembers what was promised. */
export class User {
  constructor(
    private readonly cluster: Cluster,
    private readonly report: Report,
  ) {}

  /** @param ask what is asked; undefined: there is nothing to ask now */
  act(action: string, random: SeededRandom, ask: (api: UserApi) => Promise<Written> | undefined): void {
    const serving = this.cluster.servers.flatMap((server) => server.userApi ?? []);
    if (serving.length === 0) return;
    ask(random.pick(serving))?.then(
      (written) => this.cluster.writes.acknowledged(action, written),
      (error: unknown) => this.refused(action, error),
    );
  }

  private refused(action: string, error: unknown): void {
    const named = error instanceof Error ? error : new Error(String(error));
    if (!ANSWERS.has(named.name) || DEFECT.test(named.message))
      this.report('answer', `${action} failed with ${named.name}: ${named.message}`);
  }
}
