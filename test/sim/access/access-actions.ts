import { type Allocation, isClientTerminal, isExpiredAt, type JobAcl } from '@waybill/model';
import { fixtures } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { Action, Actions } from '../workload/action.js';
import { aJobOf } from '../workload/job-shapes.js';
import { identityOf } from '../world/plain-identity.js';
import { EVENTS, type ReadingApi } from '../world/reading-api.js';
import type { UserApi, Written } from '../world/user-api.js';
import { AccessWrites, type IssuedToken } from './access-writes.js';
import { isOpenTo, OpenStream, TOPICS, type Wish } from './open-stream.js';
import { NAMESPACES, POLICY_MEANINGS } from './policy-texts.js';
import type { Question } from './questions.js';
import type { Reader } from './reader.js';
import type { Readers } from './readers.js';
import { anyQuestion } from './views.js';

/** Names of policies and roles; a few, so that they change while tokens have them. */
const POLICIES = ['one', 'two', 'three', 'four', 'five'] as const;
const ROLES = ['engineer', 'operator'] as const;
/** Of two tokens one lives that long, milliseconds. */
const LIFE_MS = [1_000, 20_000] as const;
/** Jobs of the other namespaces. */
const JOBS = [
  ['web', 'service'],
  ['report', 'batch'],
] as const;
const PATHS = ['app/settings', 'app/leader', 'keys/one', 'nomad/jobs', 'nomad/jobs/web'] as const;

/** Of so many subscriptions one is asked for. */
const WISHES = 6;

const NOTHING: Written = { Index: 0 };

/** What an action has where access control is on. */
interface AccessParts {
  readonly api: UserApi;
  readonly reading: ReadingApi;
  readonly writes: AccessWrites;
  readonly readers: Readers;
  readonly cluster: Cluster;
  readonly random: SeededRandom;
}

type AccessAction = (parts: AccessParts) => Promise<Written> | undefined;

const withAccess =
  (act: AccessAction): Action =>
  (api, cluster, random) => {
    const { reading } = api;
    const { readers } = cluster;
    if (!reading || !readers) return undefined;
    return act({ api, reading, writes: new AccessWrites(reading), readers, cluster, random });
  };

/** What administrators and readers do in a run with access control. */
export const ACCESS_ACTIONS: Actions = {
  'put policy': [
    5,
    withAccess(({ writes, random }) => writes.putPolicy(random.pick(POLICIES), random.pick(POLICY_MEANINGS).text)),
  ],
  'put policy of a job': [
    2,
    withAccess(({ writes, random }) =>
      writes.putPolicy(`of-jobs-${random.below(2)}`, random.pick(POLICY_MEANINGS).text, anyJobAcl(random)),
    ),
  ],
  'put policy for everybody': [
    1,
    withAccess(({ writes, random }) => writes.putPolicy('anonymous', random.pick(POLICY_MEANINGS).text)),
  ],
  'delete policy': [
    1.5,
    withAccess(({ writes, random }) => writes.deletePolicy(random.pick([...POLICIES, 'anonymous']))),
  ],
  'put role': [3, withAccess(({ writes, random }) => writes.putRole(random.pick(ROLES), someOf(POLICIES, random)))],
  'delete role': [
    1,
    withAccess(({ writes, cluster, random }) => {
      const roles = [...cluster.tables.acl_roles.all()];
      return roles.length === 0 ? undefined : writes.deleteRole(random.pick(roles).ID);
    }),
  ],
  'make token': [
    6,
    withAccess(({ writes, readers, random }) =>
      writes.putToken(
        { ...anyGrants(random), livesForMs: random.chance(0.5) ? Math.round(random.between(...LIFE_MS)) : undefined },
        (token) => readers.issued.push(token),
      ),
    ),
  ],
  'change token': [
    3,
    withAccess(({ writes, readers, random }) => {
      const token = pickedFrom(readers.issued, random);
      return token && writes.putToken({ ...anyGrants(random), accessor: token.accessor });
    }),
  ],
  'delete token': [
    1.5,
    withAccess(({ writes, cluster, random }) => {
      const tokens = [...cluster.tables.acl_token.all()];
      return tokens.length === 0 ? undefined : writes.deleteToken(random.pick(tokens).AccessorID);
    }),
  ],
  'register a job of another namespace': [
    4,
    withAccess(({ api, random }) => {
      const [id, type] = random.pick(JOBS);
      return api.register({ ...aJobOf(id, type, random), Namespace: anotherNamespace(random) });
    }),
  ],
  'stop a job of another namespace': [
    1,
    withAccess(({ api, random }) => api.deregister(random.pick(JOBS)[0], { namespace: anotherNamespace(random) })),
  ],
  'write a variable': [
    8,
    withAccess(async ({ api, random }) => {
      const { index } = await api.variable(
        random.pick(PATHS),
        { op: 'write' },
        { Items: { n: '1' } },
        random.pick(NAMESPACES),
      );
      return { Index: index };
    }),
  ],
  read: [60, withAccess(read)],
  subscribe: [16, withAccess(subscribe)],
};

/** The first thing that happens in such a run. */
export const addNamespaces: Action = withAccess(({ writes }) =>
  writes.write({
    type: 'NamespaceUpsert',
    payload: { Namespaces: NAMESPACES.map((Name) => ({ ...fixtures.aNamespace(), Name })) },
  }),
);

/** Often another reader asks the same at once, as the caches of an API like it. */
async function read(parts: AccessParts): Promise<Written> {
  const { reading, readers, cluster, random } = parts;
  const [first, second] = [anyReader(reading, readers, cluster, random), anyReader(reading, readers, cluster, random)];
  const [standing, state] = readers.standingNow(first[0]);
  const isOpen = (one: Question): boolean => standing !== undefined && one.isOpenTo(standing, state);
  const question = anyQuestion(cluster.tables, random, isOpen);
  await ask(parts, question, first);
  if (random.chance(0.5)) await ask(parts, question, second);
  return NOTHING;
}

async function ask(
  { reading, readers, cluster, random }: AccessParts,
  question: Question,
  [reader, credential]: readonly [Reader, string | undefined],
): Promise<void> {
  const from = readers.momentOf(reading);
  const isTask = random.chance(reader.kind === 'workload' ? 0.5 : 0.05);
  const request = { ...question.request, credential };
  const answer = isTask ? await reading.getBySocket(request) : await reading.get(request);
  if (isTask && reader.kind === 'anonymous') return readers.judgeUnauthorized(answer);
  const times = { from, until: readers.momentOf(reading), stored: cluster.world.postgres.appliedIndex };
  readers.judge(reader, question, answer, times);
}

function subscribe({ reading, readers, cluster, random }: AccessParts): Promise<Written> | undefined {
  const [reader, credential] = anyReader(reading, readers, cluster, random);
  const wishes = Array.from({ length: WISHES }, () => anyWish(random));
  const [standing, state] = readers.standingNow(reader);
  const wish = wishes.find((one) => standing && isOpenTo(one, standing, state)) ?? random.pick(wishes);
  const stream = new OpenStream(readers, reader, wish, reading, () => cluster.world.postgres.appliedIndex);
  readers.streams.push(stream);
  const query = { namespace: wish.namespace, topic: [...wish.topics], index: String(stream.fromIndex) };
  const slowness = random.chance(0.3) ? random.fork('slowness') : undefined;
  void reading.stream({ route: EVENTS, query, credential }, stream, slowness).then(
    (answer) => stream.answered(answer),
    () => stream.end(),
  );
  return Promise.resolve(NOTHING);
}

/** With what they show. */
function anyReader(
  reading: ReadingApi,
  { issued }: Readers,
  { tables }: Cluster,
  random: SeededRandom,
): readonly [Reader, string | undefined] {
  const luck = random.next();
  if (luck < 0.1) return [{ kind: 'anonymous' }, undefined];
  if (luck < 0.15) return [{ kind: 'stranger' }, wrongSecret(tables, random)];
  if (luck < 0.3) {
    const alloc = pickedFrom(workloads(tables, random), random);
    if (alloc) return workloadReader(alloc, reading.nowMs());
  }
  const nowMs = reading.nowMs();
  const isGood = ({ accessor }: IssuedToken): boolean => {
    const token = tables.acl_token.get(accessor);
    return token !== undefined && !isExpiredAt(token.ExpirationTime, nowMs);
  };
  const good = random.chance(0.85) ? issued.filter(isGood) : [];
  const token = pickedFrom(good.length > 0 ? good : issued, random);
  return token ? [{ kind: 'token', accessor: token.accessor }, token.secret] : [{ kind: 'anonymous' }, undefined];
}

/** Nobody's, or that of a machine, which opens none of these routes. */
const wrongSecret = ({ nodes }: Cluster['tables'], random: SeededRandom): string =>
  pickedFrom(random.chance(0.5) ? [...nodes.all()] : [], random)?.SecretID ?? random.uuid();

/** Some that run, and some that have ended. */
const workloads = ({ allocs }: Cluster['tables'], random: SeededRandom): Allocation[] => {
  const wantsLive = random.chance(0.8);
  return [...allocs.all()].filter((alloc) => alloc.Job !== null && isClientTerminal(alloc) !== wantsLive);
};

function workloadReader(alloc: Allocation, nowMs: number): readonly [Reader, string] {
  const group = alloc.Job?.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup);
  const workload = {
    allocId: alloc.ID,
    namespace: alloc.Namespace,
    jobId: alloc.Job?.ParentID || alloc.JobID,
    group: alloc.TaskGroup,
    task: group?.Tasks[0]?.Name ?? '',
  };
  return [{ kind: 'workload', workload }, identityOf(alloc, nowMs)];
}

const anyWish = (random: SeededRandom): Wish => ({
  namespace: random.pick([...NAMESPACES, '*']),
  topics: random.chance(0.8) ? [random.pick(TOPICS)] : [...new Set([random.pick(TOPICS), random.pick(TOPICS)])],
});

function anyJobAcl(random: SeededRandom): JobAcl {
  const JobID = random.pick(['', 'web', 'web', 'we', 'report', 'convert']);
  return { Namespace: random.pick(NAMESPACES), JobID, Group: '', Task: '' };
}

const anyGrants = (random: SeededRandom) => {
  const roles = random.chance(0.5) ? [random.pick(ROLES)] : [];
  return { roles, policies: roles.length > 0 && random.chance(0.5) ? [] : someOf(POLICIES, random) };
};

/** One, or two. */
const someOf = <T>(all: readonly T[], random: SeededRandom): T[] =>
  random.chance(0.6) ? [random.pick(all)] : [...new Set([random.pick(all), random.pick(all)])];

const anotherNamespace = (random: SeededRandom): string => random.pick(NAMESPACES.slice(1));

const pickedFrom = <T>(found: readonly T[], random: SeededRandom): T | undefined =>
  found.length > 0 ? random.pick(found) : undefined;
