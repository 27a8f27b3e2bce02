import type { Cluster } from '../cluster.js';
import type { Report } from '../checks/violation.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import { expectAnswer } from '../workload/user.js';
import type { KeyringApi } from '../world/keyring-api.js';
import type { KeysJudge, Moment } from './keys-judge.js';
import { Rival } from './rival.js';
import { Watcher } from './watcher.js';

/** Variables of clients that take no locks, and those whose locks rivals take. */
export const PATHS = ['app/db', 'app/mail', 'app/pay', 'nomad/jobs/web', 'nomad/jobs'] as const;
export const LOCKS = ['app/leader', 'app/cron'] as const;

/** A request is on its way to an API for so long, milliseconds. */
const ON_ITS_WAY_MS = [1, 40] as const;
/** A client waits for an answer so long, milliseconds, and longer where it asked the API to wait. */
const PATIENCE_MS = 12_000;
/** How many answers get lost on the way back. */
const LOST_ANSWERS = 0.03;

/** Clients that live longer than one request: rivals for locks, and watchers of variables. They end with the faults. */
export class KeyClients {
  readonly watchers: readonly Watcher[];
  private isOver = false;
  private born = 0;

  constructor(
    readonly cluster: Cluster,
    readonly judge: KeysJudge,
    private readonly random: SeededRandom,
    private readonly report: Report,
  ) {
    this.watchers = [...PATHS, ...LOCKS].map((path) => new Watcher(path, this, random.fork(`watcher of ${path}`)));
  }

  get nowMs(): number {
    return this.cluster.simulator.nowMs;
  }

  /** Whether clients begin nothing new. */
  get over(): boolean {
    return this.isOver;
  }

  start(): void {
    for (const watcher of this.watchers) void watcher.watch();
  }

  addRival(path: string, random: SeededRandom): void {
    if (!this.isOver) void new Rival(path, this, random.fork(`rival ${++this.born}`)).live();
  }

  /** Rivals die where they stand. */
  stop(): void {
    this.isOver = true;
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.cluster.simulator.schedule(ms, 'client goes on', resolve));
  }

  /** Asks any API that serves. Undefined: the client got no answer, or an error, and does not know whether the request took effect. */
  async ask<T>(
    action: string,
    random: SeededRandom,
    request: (api: KeyringApi) => Promise<T>,
    waitsMs = 0,
  ): Promise<T | undefined> {
    await this.pause(random.between(...ON_ITS_WAY_MS));
    const serving = this.cluster.servers.flatMap(({ userApi }) => userApi?.keyring ?? []);
    if (serving.length === 0) return undefined;
    const api = random.pick(serving);
    const answered = request(api).catch((error: unknown): undefined => {
      expectAnswer(action, error, this.report);
      return undefined;
    });
    let stopListening = (): void => {};
    const ended = new Promise<void>((resolve) => (stopListening = api.process.onEnd(resolve)));
    const answer = await Promise.race([answered, ended, this.pause(waitsMs + PATIENCE_MS)]);
    stopListening();
    return random.chance(LOST_ANSWERS) ? undefined : (answer ?? undefined);
  }

  get moment(): Moment {
    return this.judge.moment;
  }
}
