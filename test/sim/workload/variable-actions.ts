import type { VariableAnswer } from '@waybill/api';
import { NS_PER_SECOND } from '@waybill/model';
import type { Cluster } from '../cluster.js';
import { COUNTER, LOCKED } from '../checks/variables.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { UserApi, Written } from '../world/user-api.js';
import type { Actions } from './action.js';

/** The shortest there is. */
const TTL_NS = 10 * NS_PER_SECOND;
const LOCK = { ID: '', TTL: TTL_NS, LockDelay: NS_PER_SECOND };

/** What users do with variables. Planned beside everything else, so that it shifts nothing else. */
export const VARIABLE_ACTIONS: Actions = {
  'count up': [6, (api, cluster) => countUp(api, cluster)],
  'take a lock': [3, (api, cluster) => takeLock(api, cluster)],
  'renew a lock': [
    4,
    (api, cluster, random) =>
      withLock(cluster, random, async (id) => {
        const askedMs = cluster.simulator.nowMs;
        await api.renewLock(LOCKED, id);
        cluster.variables?.holds(id, askedMs, TTL_NS);
        return { Index: 0 };
      }),
  ],
  'write under a lock': [
    2,
    (api, cluster, random) =>
      withLock(cluster, random, async (id) =>
        written(
          await api.variable(LOCKED, { op: 'write' }, { Items: { by: id }, Lock: { ID: id, TTL: 0, LockDelay: 0 } }),
        ),
      ),
  ],
  'release a lock': [
    2,
    (api, cluster, random) =>
      withLock(cluster, random, async (id) => {
        cluster.variables?.letsGo(id);
        return written(await api.variable(LOCKED, { op: 'lock-release' }, { Lock: { ID: id, TTL: 0, LockDelay: 0 } }));
      }),
  ],
};

async function countUp(api: UserApi, { variables, simulator }: Cluster): Promise<Written> {
  const askedMs = simulator.nowMs;
  const { items, index } = await api.variableItems(COUNTER);
  const number = Number(items['n'] ?? 0) + 1;
  const answer = await api.variable(COUNTER, { op: 'cas', checkIndex: index }, { Items: { n: String(number) } });
  if (answer.status === 200) variables?.counted(number, answer.index, askedMs);
  return written(answer);
}

async function takeLock(api: UserApi, { variables, simulator }: Cluster): Promise<Written> {
  const askedMs = simulator.nowMs;
  const answer = await api.variable(LOCKED, { op: 'lock-acquire' }, { Items: { by: 'new' }, Lock: LOCK });
  const lock = answer.body?.['Lock'];
  if (answer.status === 200 && typeof lock === 'object' && lock !== null && 'ID' in lock)
    variables?.holds(String(lock.ID), askedMs, TTL_NS);
  return written(answer);
}

/** Of a lock that a user holds, or held: the last one most often. */
function withLock(
  { variables }: Cluster,
  random: SeededRandom,
  act: (id: string) => Promise<Written>,
): Promise<Written> | undefined {
  const locks = variables?.locks ?? [];
  const lock = random.chance(0.8) ? locks.at(-1) : locks[0];
  return lock && act(lock.id);
}

/** A conflict wrote nothing. */
const written = ({ status, index }: VariableAnswer): Written => ({ Index: status === 409 ? 0 : index });
