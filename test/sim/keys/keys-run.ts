import { AeadWrapper, newRootKey } from '@waybill/keyring';
import { nsFromMs, NS_PER_HOUR } from '@waybill/model';
import { draftTxn, serviceActor } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import type { Report } from '../checks/violation.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { KeyringApi } from '../world/keyring-api.js';
import { seededEntropy } from '../world/seeded-entropy.js';
import { messageOf } from '../world/txn-stream.js';
import { KeyClients, LOCKS, PATHS } from './key-clients.js';
import { KeysJudge } from './keys-judge.js';
import { Secrecy } from './secrecy.js';
import type { Effect } from './stored-secrets.js';
import type { StoredVariable } from './variable-rules.js';
import { WAIT_MS } from './watcher.js';
import { itemsOf } from './wishes.js';

/** Wraps the root keys of every run. */
export const CLUSTER_KEY = '07'.repeat(32);

/** A root key of the time before the run. */
interface EarlierKey {
  readonly ageHours: number;
  /** Set for a key that is published and not used yet. */
  readonly usedInHours?: number;
}

/** Clusters at the beginning of a run, the oldest key first; the last one that is used is active. */
const EARLIER: readonly (readonly EarlierKey[])[] = [
  [], // the broker makes the first key
  [{ ageHours: 1 }],
  [{ ageHours: 359.97 }], // the next key is soon to be published
  [{ ageHours: 719.95 }, { ageHours: 359.9, usedInHours: 0.05 }],
  [{ ageHours: 1_100 }, { ageHours: 380 }], // the first one is of no use
  [{ ageHours: 720.95 }, { ageHours: 380 }, { ageHours: 20, usedInHours: 0.1 }],
];

/** Of the variables that the broker encrypts anew, for how many another one is written at the same time. */
const WRITES_MEANWHILE = 0.3;
/** Every answer that a watcher waits for has come after this, milliseconds. */
const HEARD_MS = 3 * WAIT_MS;
/** A change is seen within this, milliseconds, when nothing is broken. */
const SEEN_MS = 8_000;
const RETRY_MS = 2_000;

/** The part of a run with a keyring: its clients and its judge. */
export class KeysRun {
  readonly judge: KeysJudge;
  readonly clients: KeyClients;
  private readonly secrecy: Secrecy;
  private lastChangeMs = 0;
  private isSettled = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly random: SeededRandom,
    private readonly report: Report,
  ) {
    const { reference, lostEnds, world, servers, simulator } = cluster;
    this.judge = new KeysJudge({
      reference,
      lostEnds,
      clusterKey: CLUSTER_KEY,
      clocksWereWrong: () => servers.some(({ clockWasWrong }) => clockWasWrong),
      storedAt: (index) => world.stream.stored[index - 1],
      postgresIndex: () => world.postgres.appliedIndex,
      isUndecided: () => cluster.operator.undecided !== undefined,
      nowMs: () => simulator.nowMs,
      report,
    });
    this.judge.stored.onEffect((effect) => this.changed(effect));
    this.clients = new KeyClients(cluster, this.judge, random.fork('clients'), report);
    this.secrecy = new Secrecy(cluster, this.judge, report);
  }

  get judged(): ReadonlyMap<string, number> {
    return this.judge.judged;
  }

  /** The log begins with the root keys of an earlier life. Nothing happens before they are in it. */
  async begin(): Promise<void> {
    const { world, simulator } = this.cluster;
    const random = this.random.fork('earlier keys');
    const entropy = seededEntropy(random.fork('entropy'));
    const wrapper = new AeadWrapper(Buffer.from(CLUSTER_KEY, 'hex'), entropy);
    for (const { ageHours, usedInHours } of random.pick(EARLIER)) {
      const nowNs = nsFromMs(simulator.nowMs);
      const Key = await newRootKey(
        wrapper,
        {
          KeyID: random.uuid(),
          State: usedInHours === undefined ? 'active' : 'prepublished',
          CreateTime: Math.round(nowNs - ageHours * NS_PER_HOUR),
          PublishTime: usedInHours === undefined ? 0 : Math.round(nowNs + usedInHours * NS_PER_HOUR),
        },
        entropy,
      );
      const said = { timeNs: nowNs, requestId: random.uuid(), actor: serviceActor('waybill') };
      world.stream.append(
        messageOf(draftTxn('RootKeyUpsert', { Key, Rekey: false, MustExist: false }, said)),
        undefined,
      );
    }
    this.clients.start();
  }

  /** Faults have stopped. */
  repair(): void {
    this.clients.stop();
    void this.settle();
  }

  /** Returns the work that must still end, in words; undefined if there is none. */
  open(): string | undefined {
    return this.judge.due() ?? (this.isSettled ? undefined : 'clients of variables are not at rest');
  }

  /** At rest. */
  finish(): void {
    this.judge.finish();
    this.secrecy.finish();
  }

  /** While the broker encrypts variables anew, clients write those whose turn is to come. */
  private changed({ isOfHolder, path, before, after }: Effect): void {
    const { clients, judge, cluster, random } = this;
    this.lastChangeMs = cluster.simulator.nowMs;
    if (!isOfHolder || before?.keyId === after?.keyId || clients.over || !random.chance(WRITES_MEANWHILE)) return;
    const isOther = (one: StoredVariable): boolean => one.path !== path && one.keyId === before?.keyId && !one.lock;
    const others = [...judge.stored.now.variables.values()].filter(isOther);
    if (others.length > 0) void this.put(random.pick(others).path, random.fork(`meanwhile ${this.lastChangeMs}`));
  }

  /** @returns the status of the answer; undefined: it is not known */
  private put(path: string, random: SeededRandom): Promise<number | undefined> {
    const { clients, judge } = this;
    const items = itemsOf(random);
    const wish = judge.asked({ path, op: 'set', items, lockId: '', requestId: random.uuid(), askedMs: clients.nowMs });
    return clients.ask('put', random, async (api) => {
      const answer = await api.write(path, { operation: { op: 'write' }, given: { Items: items } }, wish.requestId);
      judge.answered(wish, answer);
      return answer.status;
    });
  }

  /** Every variable is written once more. Then every watcher has seen it, and every API can read it. */
  private async settle(): Promise<void> {
    const { clients, random } = this;
    await clients.pause(HEARD_MS);
    for (const path of [...PATHS, ...LOCKS]) await this.touch(path, random.fork(`last write of ${path}`));
    do await clients.pause(SEEN_MS);
    while (clients.nowMs - this.lastChangeMs < SEEN_MS);
    const { variables } = this.judge.stored.now;
    for (const { path, seen } of clients.watchers) {
      const index = variables.get(path)?.index ?? 0;
      if (seen !== index)
        this.report('blocking-read-missed', `${path} was written at ${index}, the watcher saw ${seen}`);
    }
    for (const { userApi, name } of this.cluster.servers)
      if (userApi?.keyring) await this.readAll(userApi.keyring, name);
    this.isSettled = true;
  }

  private async touch(path: string, random: SeededRandom): Promise<void> {
    while ((await this.put(path, random)) !== 200) await this.clients.pause(RETRY_MS);
  }

  private async readAll(api: KeyringApi, server: string): Promise<void> {
    const { judge } = this;
    for (const path of judge.stored.now.variables.keys()) {
      const from = judge.moment;
      const answer = await api.read(path);
      judge.readAnswered(path, from, judge.moment, answer);
    }
    const before = judge.stored.now.keys;
    const shown = (await api.publicKeys()).map(({ kid }) => kid).toSorted();
    const keys = [...before.keys()].toSorted();
    if (judge.stored.now.keys === before && shown.join() !== keys.join())
      this.report('public-keys', `${server} shows ${shown.join()} instead of ${keys.join()}`);
  }
}
