import { TABLE_NAMES } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import type { Report } from '../checks/violation.js';
import type { KeysJudge } from './keys-judge.js';
import { SECRET } from './wishes.js';

const NONE: ReadonlySet<string> = new Set();
/** Of the saved archives, how many are looked into: each is as large as the state. */
const ARCHIVES = 2;

/**
 * No item of a variable and no unwrapped key is anywhere but in the memory of processes (OP-204, OP-210), and events and
 * verdicts show no lock's ID (OP-205).
 */
export class Secrecy {
  private readonly lockIds = new Set<string>();

  constructor(
    private readonly cluster: Cluster,
    private readonly judge: KeysJudge,
    private readonly report: Report,
  ) {
    cluster.world.stream.onStored(({ index, headers, body }) => this.look(`the log at index ${index}`, headers + body));
    judge.stored.onEffect(({ after }) => {
      if (after?.lock) this.lockIds.add(after.lock.id);
    });
  }

  finish(): void {
    const { world, snapshots } = this.cluster;
    for (const { index, headers, data } of world.events.parts) {
      const text = Buffer.from(data).toString('latin1');
      this.look(`the event at index ${index}`, text + JSON.stringify(headers), this.lockIds);
    }
    for (const table of TABLE_NAMES) this.look(`table ${table}`, JSON.stringify(world.postgres.rowsEvenAside(table)));
    for (let index = 1; index <= world.postgres.appliedIndex; index++)
      this.look(`the verdict at index ${index}`, JSON.stringify(world.postgres.verdictOf(index)), this.lockIds);
    for (const saved of snapshots.slice(-ARCHIVES)) this.look('an archive', Buffer.from(saved()).toString('utf8'));
  }

  private look(where: string, text: string, moreHidden: ReadonlySet<string> = NONE): void {
    if (text.includes(SECRET)) this.report('secrets-stay-secret', `${where} shows items of a variable`);
    for (const hidden of this.judge.vault.forbidden)
      if (text.includes(hidden)) this.report('secrets-stay-secret', `${where} shows a root key`);
    for (const hidden of moreHidden)
      if (text.includes(hidden)) this.report('secrets-stay-secret', `${where} shows the lock ${hidden}`);
  }
}
