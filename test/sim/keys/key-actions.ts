import { NS_PER_MINUTE, NS_PER_MS } from '@waybill/model';
import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { Action, Actions } from '../workload/action.js';
import { OPERATOR_ACTIONS } from '../workload/operator-actions.js';
import type { KeyringApi, WriteAnswer } from '../world/keyring-api.js';
import type { Written } from '../world/user-api.js';
import { LOCKS, PATHS } from './key-clients.js';
import type { KeysRun } from './keys-run.js';
import { itemsOf, type Wish } from './wishes.js';

/** How long a key is published before it is used, minutes. */
const PUBLISHED_MINUTES = [0.5, 12] as const;

/** The context of an action in a run with a keyring. */
interface KeyParts {
  readonly api: KeyringApi;
  readonly run: KeysRun;
  readonly cluster: Cluster;
  readonly random: SeededRandom;
}

const withKeys =
  (act: (parts: KeyParts) => Promise<Written> | undefined): Action =>
  ({ keyring: api }, cluster, random) =>
    api && cluster.keys ? act({ api, run: cluster.keys, cluster, random }) : undefined;

const ofOperators = (name: string): Action => OPERATOR_ACTIONS[name]?.[1] ?? (() => undefined);

/** Actions of clients and operators in a run with a keyring, beside the usual workload. */
export const KEY_ACTIONS: Actions = {
  'put a secret': [10, withKeys((parts) => put(parts, anyPath(parts.random)))],
  'put a secret that is locked': [2, withKeys((parts) => put(parts, parts.random.pick(LOCKS)))],
  'put a secret and read it everywhere': [4, withKeys(putAndReadEverywhere)],
  'put a secret by its index': [10, withKeys(putByIndex)],
  'delete a secret': [2, withKeys((parts) => remove(parts, undefined))],
  'delete a secret by its index': [2, withKeys(async (parts) => remove(parts, await indexOf(parts)))],
  'read a secret': [16, withKeys(read)],
  'want a lock': [
    7,
    withKeys(({ run, random }) => {
      run.clients.addRival(random.pick(LOCKS), random);
      return Promise.resolve({ Index: 0 });
    }),
  ],
  'rotate the root key': [1.5, withKeys((parts) => rotate(parts, false, 0))],
  'rotate the root key in full': [2, withKeys((parts) => rotate(parts, true, 0))],
  'publish the next root key': [
    2,
    withKeys((parts) => {
      // The broker takes one key into use every ten minutes: with several of them a run would last for hours.
      if (parts.cluster.tables.root_keys.count('state', 'prepublished') > 0) return undefined;
      const inNs = parts.random.between(...PUBLISHED_MINUTES) * NS_PER_MINUTE;
      return rotate(parts, false, parts.api.nowMs() * NS_PER_MS + Math.round(inNs));
    }),
  ],
  'remove a root key': [4, withKeys((parts) => removeKey(parts, false))],
  'force a root key out': [0.7, withKeys((parts) => removeKey(parts, true))],
  'save snapshot': [2, ofOperators('save snapshot')],
  'restore snapshot': [0.5, ofOperators('restore snapshot')],
};

const anyPath = (random: SeededRandom): string => random.pick(PATHS);

async function put({ api, run, cluster, random }: KeyParts, path: string): Promise<Written> {
  const items = itemsOf(random);
  const wish = run.judge.asked(wishOf(cluster, random, { path, op: 'set', items }));
  return answered(
    run,
    wish,
    await api.write(path, { operation: { op: 'write' }, given: { Items: items } }, wish.requestId),
  );
}

/** Reads the secret at once from every API: those that hear of changes late meet a root key that they do not know yet. */
async function putAndReadEverywhere(parts: KeyParts): Promise<Written> {
  const { run, cluster, random } = parts;
  const path = anyPath(random.fork('path'));
  const written = await put(parts, path);
  const serving = cluster.servers.flatMap(({ userApi }) => userApi?.keyring ?? []);
  await Promise.all(serving.map((api) => readFrom(api, run, path)));
  return written;
}

async function indexOf({ api, random }: KeyParts): Promise<number> {
  const { modifyIndex } = await api.read(anyPath(random.fork('path')));
  return modifyIndex;
}

/** Now and then by an index of which the client cannot know that it is the last one. */
async function putByIndex(parts: KeyParts): Promise<Written> {
  const { api, run, cluster, random } = parts;
  const path = anyPath(random.fork('path'));
  const checkIndex = random.chance(0.1) ? random.below(2) : await indexOf(parts);
  const items = itemsOf(random);
  const wish = run.judge.asked(wishOf(cluster, random, { path, op: 'cas', items }));
  const wanted = { operation: { op: 'cas', checkIndex }, given: { Items: items } } as const;
  return answered(run, wish, await api.write(path, wanted, wish.requestId));
}

async function remove({ api, run, cluster, random }: KeyParts, checkIndex: number | undefined): Promise<Written> {
  const path = anyPath(random.fork('path'));
  const wish = run.judge.asked(wishOf(cluster, random, { path, op: 'delete' }));
  return answered(run, wish, await api.remove(path, '', checkIndex, wish.requestId));
}

async function read({ api, run, random }: KeyParts): Promise<Written> {
  await readFrom(api, run, random.pick([...PATHS, ...LOCKS]));
  return { Index: 0 };
}

async function readFrom(api: KeyringApi, { judge }: KeysRun, path: string): Promise<void> {
  const from = judge.moment;
  const answer = await api.read(path);
  judge.readAnswered(path, from, judge.moment, answer);
}

async function rotate({ api, run, cluster, random }: KeyParts, full: boolean, publishTime: number): Promise<Written> {
  const askedMs = cluster.simulator.nowMs;
  const { key, index } = await api.rotate({ full, publishTime }, random.uuid());
  run.judge.rotated(key.KeyID, index, askedMs);
  return { Index: index };
}

function removeKey({ api, cluster, random }: KeyParts, force: boolean): Promise<Written> | undefined {
  const keys = [...cluster.tables.root_keys.all()].filter(({ State }) => State !== 'active' || random.chance(0.1));
  if (keys.length === 0) return undefined;
  return api.removeKey(random.pick(keys).KeyID, force, random.uuid()).then((Index) => ({ Index }));
}

const wishOf = ({ simulator }: Cluster, random: SeededRandom, said: Pick<Wish, 'path' | 'op' | 'items'>): Wish => ({
  ...said,
  requestId: random.uuid(),
  lockId: '',
  askedMs: simulator.nowMs,
});

/** A conflict wrote nothing. */
function answered({ judge }: KeysRun, wish: Wish, answer: WriteAnswer): Written {
  judge.answered(wish, answer);
  return { Index: answer.status === 409 ? 0 : answer.index };
}
