import type { SeededRandom } from '../kernel/seeded-random.js';
import type { KeyringApi, ReadVariable } from '../world/keyring-api.js';
import type { KeyClients } from './key-clients.js';

/** How long an API may wait for a change, milliseconds. */
export const WAIT_MS = 20_000;
/** Between two requests, milliseconds. */
const BETWEEN_MS = [50, 1_500] as const;

/** Reads one variable again and again, each time once it has changed since the last answer. */
export class Watcher {
  /** The index of the variable's last write as it was shown last; 0: there is none. Undefined: nothing was shown yet. */
  seen: number | undefined;
  private afterIndex = 0;

  constructor(
    readonly path: string,
    private readonly clients: KeyClients,
    private readonly random: SeededRandom,
  ) {}

  /** Never ends. */
  async watch(): Promise<void> {
    const { clients, random } = this;
    for (;;) {
      await clients.pause(random.between(...BETWEEN_MS));
      const answer = await clients.ask('watch', random, (api) => this.judgedRead(api), WAIT_MS * 2);
      if (!answer) continue;
      this.afterIndex = answer.index;
      this.seen = answer.modifyIndex;
      clients.judge.count('watched');
    }
  }

  private async judgedRead(api: KeyringApi): Promise<ReadVariable> {
    const { clients, path } = this;
    const from = clients.moment;
    const answer = await api.read(path, this.afterIndex, WAIT_MS);
    clients.judge.readAnswered(path, from, clients.moment, answer);
    return answer;
  }
}
