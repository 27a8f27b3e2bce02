import { randomUUID } from 'node:crypto';
import { Acl, NAMESPACE_CAPABILITIES, type Requirement } from '@waybill/acl';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';

interface Route {
  readonly Method: string;
  readonly Path: string;
  readonly Part: string;
  readonly Needs: string;
  readonly At: string;
  readonly IgnoresToken: boolean;
  readonly Requirement: Requirement;
}

const TEAM = 'team';
const POOL = 'blue';
const DENIED = 403;

let cluster: AccessCluster;
let allocId: string;
let evalId: string;
let deploymentId: string;

beforeAll(async () => {
  cluster = await AccessCluster.start();
  await cluster.asked('PUT', '/v1/namespace', { Name: TEAM });
  await cluster.asked('PUT', '/v1/namespace', { Name: 'other' });
  await cluster.asked('PUT', '/v1/node/pools', { Name: POOL });
  const job = { ...shellJob('web', 'while :; do sleep 1; done'), Namespace: TEAM };
  evalId = (await cluster.asked<{ EvalID: string }>('PUT', `/v1/jobs?namespace=${TEAM}`, { Job: job })).EvalID;
  await eventually('the job is placed', async () => {
    const allocs = await cluster.asked<{ ID: string }[]>('GET', `/v1/job/web/allocations?namespace=${TEAM}`);
    allocId = allocs[0]?.ID ?? '';
    return allocId !== '';
  });
  const deployment = await cluster.asked<{ ID: string }>('GET', `/v1/job/web/deployment?namespace=${TEAM}`);
  deploymentId = deployment.ID;
});

afterAll(async () => {
  await cluster?.stop();
});

const inNamespace = (namespace: string, capabilities: readonly string[]): string =>
  capabilities.length === 0 ? '' : `namespace "${namespace}" { capabilities = ${JSON.stringify(capabilities)} }\n`;

const inVariables = (namespace: string, capability: string): string =>
  `namespace "${namespace}" { variables { path "*" { capabilities = ["${capability}"] } } }\n`;

/** Rules for exactly what is required, one text for each way to have it; undefined: only a management token has it. */
function exactly(requirement: Requirement, namespace: string): readonly string[] | undefined {
  switch (requirement.kind) {
    case 'management':
      return undefined;
    case 'namespace':
      return requirement.anyOf.map((capability) => inNamespace(namespace, [capability]));
    case 'node':
    case 'agent':
      return [`${requirement.kind} { policy = "${requirement.level}" }\n`];
    case 'operator':
      return 'capability' in requirement
        ? [`operator { capabilities = ["${requirement.capability}"] }\n`]
        : [`operator { policy = "${requirement.level}" }\n`];
    case 'plugin':
      return [`plugin { policy = "${requirement.level}" }\n`];
    case 'nodePool':
      return [`node_pool "${POOL}" { capabilities = ["${requirement.capability}"] }\n`];
    case 'variable':
      return [inVariables(namespace, requirement.capability)];
    case 'anyVariable':
      return [inVariables(namespace, 'list')];
    case 'workload':
      return []; // no rule makes one
    case 'anyOf':
      return requirement.of.flatMap((one) => exactly(one, namespace) ?? []);
    case 'allOf':
      return [requirement.of.flatMap((one) => exactly(one, namespace)?.slice(0, 1) ?? []).join('')];
    default:
      throw new Error(`the test does not know how to grant ${requirement.kind}`);
  }
}

/** Whether rules have what is required, as the server would decide. */
const has = (rules: string, capabilities: readonly string[]): boolean =>
  Acl.compile([{ name: 'p', modifyIndex: 1, rules }]).allowsNamespace(TEAM, ...(capabilities as never[]));

/** Every capability that a namespace has, less those of which one is enough, or from which one follows. */
function allOfNamespaceBut(capabilities: readonly string[]): string {
  return inNamespace(
    TEAM,
    NAMESPACE_CAPABILITIES.filter((one) => !has(inNamespace(TEAM, [one]), capabilities)),
  );
}

const EVERYTHING_ELSE: Record<string, string> = {
  node: 'node { policy = "write" }\n',
  agent: 'agent { policy = "write" }\n',
  operator:
    'operator { policy = "write"\n capabilities = ["snapshot-save", "license-read", "keyring-read", "keyring-rotate", "keyring-delete"] }\n',
  plugin: 'plugin { policy = "read" }\n',
  nodePool: `node_pool "*" { policy = "write" }\n`,
};

const capabilitiesOf = (requirement: Requirement): readonly string[] => {
  if (requirement.kind === 'namespace') return requirement.anyOf;
  if (requirement.kind === 'anyOf' || requirement.kind === 'allOf') return requirement.of.flatMap(capabilitiesOf);
  return [];
};

/** Everything but what is required. */
function everythingBut(requirement: Requirement): string {
  const kept = Object.entries(EVERYTHING_ELSE).filter(([kind]) => kind !== requirement.kind);
  const weaker =
    'level' in requirement && requirement.level === 'write' ? `${requirement.kind} { policy = "read" }\n` : '';
  return kept.map(([, rules]) => rules).join('') + allOfNamespaceBut(capabilitiesOf(requirement)) + weaker;
}

/** Rights beside the declared one, which the handler asks for. */
function besides({ Path, Part, Method }: Route): string {
  if (Path.startsWith('/v1/volume') && Method !== 'GET' && !Path.includes('/host/'))
    return EVERYTHING_ELSE['plugin'] ?? '';
  if (Path === '/v1/node/pool/:name/nodes') return EVERYTHING_ELSE['node'] ?? '';
  if (Path === '/v1/node/pool/:name/jobs') return `node_pool "${POOL}" { policy = "read" }\n`;
  return Part === 'never' ? Method : '';
}

/** Bodies that can be decoded, where the namespace or pool stands in them. */
function bodyOf({ Path, Part, Method }: Route): unknown {
  if (Method === 'GET' || Method === 'DELETE') return undefined;
  const job = { ...shellJob('absent', 'true'), Namespace: TEAM };
  if (Path === '/v1/jobs' || Path === '/v1/validate/job') return { Job: job };
  if (Path === '/v1/job/*' && (Part === '' || Part === 'plan')) return { Job: job };
  if (Path === '/v1/job/*') return { JobID: 'absent' };
  if (Path === '/v1/jobs/statuses') return { Jobs: [{ ID: 'web', Namespace: TEAM }] };
  if (Path === '/v1/jobs/parse') return { JobHCL: 'job "x" {}' };
  if (Path === '/v1/node/pools' || Path === '/v1/node/pool/:name') return { Name: POOL };
  if (Path.startsWith('/v1/volume/host')) return { Volume: { Name: 'v', Namespace: TEAM, PluginID: 'mkdir' } };
  if (Path.includes('/allocation/')) return { TaskName: 'task', Task: 'task', Signal: 'SIGCONT', ScheduleState: 'run' };
  if (Path.startsWith('/v1/volume'))
    return { Volumes: [{ ID: 'v', Name: 'v', Namespace: TEAM, PluginID: 'p' }], Snapshots: [] };
  return {};
}

const SUFFIXES_OF_QUERY: Record<string, string> = { csi: '&type=csi', host: '&type=host', purge: '&purge=true' };

/**
 * A request for a route.
 * @param real about what exists; else about something that nobody has, so that a request that is allowed breaks nothing
 */
function urlOf({ Path, Part }: Route, real: boolean): string | undefined {
  const id = (existing: string): string => (real ? existing : randomUUID());
  const job = real ? 'web' : 'absent';
  let url = Path;
  if (Path === '/v1/job/*') url = `/v1/job/${job}${Part === '' || Part === 'purge' ? '' : `/${Part}`}`;
  else if (Path.startsWith('/v1/deployment/') && Part !== '' && !Path.includes(`/${Part}/`)) return undefined;
  else if (Path.startsWith('/v1/volume/host/:action')) url = `/v1/volume/host/${Part}`;
  if (Path === '/v1/job/*' && Part === 'tag') url = `/v1/job/${job}/versions/v1/tag`;
  url = url
    .replace('/deployment/allocations/:id', `/deployment/allocations/${id(deploymentId)}`)
    .replace(/(\/deployment\/[^:]*):id/, `$1${id(deploymentId)}`)
    .replace('/evaluation/:id', `/evaluation/${id(evalId)}`)
    .replace('/allocation/:id', `/allocation/${id(allocId)}`)
    .replace('/v1/client/fs/', `/v1/client/fs/`)
    .replace(/^(\/v1\/client\/fs\/\w+)\/\*$/, `$1/${id(allocId)}`)
    .replace('/node/pool/:name', `/node/pool/${POOL}`)
    .replace(':name', 'absent')
    .replace(/:\w+/g, 'absent')
    .replace(/\*$/, 'absent');
  return `${url}?namespace=${TEAM}${SUFFIXES_OF_QUERY[Part] ?? ''}&task=task&type=stdout&path=/&offset=0&limit=1&node_id=${randomUUID()}`.replace(
    /(type=(csi|host).*)&type=stdout/,
    '$1',
  );
}

/** Short enough to read many of them. */
const withoutIds = (text: string): string => text.replace(/\?\S*/, '').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');

/** Paths that answer whoever asks with what their client may see, each proven by a test of its own. */
const isForAnyCaller = ({ Requirement: { kind } }: Route): boolean => kind === 'none';
/** Paths that nothing leads to: they say 404 or 405 to everybody. */
const isNoRoute = ({ Part }: Route): boolean => Part === '*';

async function routes(): Promise<readonly Route[]> {
  const all = await cluster.asked<Route[]>('GET', '/v1/waybill/routes');
  return all.filter(({ Method }) => ['GET', 'PUT', 'POST', 'DELETE'].includes(Method));
}

/** Requests that are under way at once: each waits for the log most of its time. */
const AT_ONCE = 6;

async function forEachRoute(check: (route: Route) => Promise<void>): Promise<void> {
  const waiting = [...(await routes())];
  const checkRest = async (): Promise<void> => {
    for (let route = waiting.shift(); route; route = waiting.shift()) await check(route);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, checkRest));
}

describe('every route of the running server', { timeout: 600_000 }, () => {
  it('OP-170: refuses nobody, everything but the right, and the right in another namespace; it takes exactly the right', async () => {
    const wrong: string[] = [];
    let checked = 0;
    await forEachRoute(async (route) => {
      const real = urlOf(route, true);
      const absent = urlOf(route, false);
      if (!real || !absent || isNoRoute(route) || isForAnyCaller(route)) return;
      const { Method, Requirement: needed } = route;
      const body = bodyOf(route);
      const say = (who: string, status: number, url: string): void =>
        void wrong.push(`${Method} ${url} as ${who}: ${status}`);
      const refuses = async (who: string, token: string): Promise<void> => {
        const status = await cluster.statusOf(Method, real, token, body);
        if (status !== DENIED) say(who, status, real);
      };
      const takes = async (who: string, token: string): Promise<void> => {
        const url = Method === 'GET' ? real : absent;
        const status = await cluster.statusOf(Method, url, token, body);
        if (status === DENIED) say(who, status, url);
      };
      await refuses('nobody', '');
      await refuses('an unknown token', randomUUID());
      await refuses(`everything but ${route.Needs}`, await cluster.tokenWith(everythingBut(needed)));
      if (capabilitiesOf(needed).length > 0 || needed.kind === 'variable')
        await refuses('the same right elsewhere', await cluster.tokenWith((exactly(needed, 'other') ?? []).join('')));
      await takes('management', cluster.management);
      for (const rules of exactly(needed, TEAM) ?? [])
        await takes(rules, await cluster.tokenWith(rules + besides(route)));
      checked += 1;
    });
    expect(wrong.map(withoutIds)).toEqual([]);
    expect(checked).toBeGreaterThan(150);
  });

  it('OP-115: routes that check somebody refuse an unknown token, those that check nobody do not look at it', async () => {
    const wrong: string[] = [];
    for (const route of await routes()) {
      const url = urlOf(route, false);
      if (!url || isNoRoute(route) || !isForAnyCaller(route) || route.Path === '/v1/acl/bootstrap') continue;
      const status = await cluster.statusOf(route.Method, url, randomUUID(), bodyOf(route));
      if ((status === DENIED) === route.IgnoresToken && !route.Path.endsWith('exchange'))
        wrong.push(`${route.Method} ${url}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('requests that are written so as to be taken for another route', () => {
  const rules = inNamespace(TEAM, ['deregister-job']);

  it.each([
    ['GET', '/v1/volumes?x=?&type=csi&namespace=team', undefined],
    ['GET', '/v1/volumes?type=constructor&namespace=team', undefined],
    ['GET', '/v1/volumes?type=__proto__&namespace=team', undefined],
    ['PUT', '/v1/volume/host/%63reate', { Volume: { Name: 'v', Namespace: TEAM, PluginID: 'mkdir' } }],
    ['PUT', '/v1/volume/host/create/more', { Volume: { Name: 'v', Namespace: TEAM, PluginID: 'mkdir' } }],
    ['PUT', '/v1/volume/host/constructor', {}],
    ['DELETE', '/v1/job/web?x=?&purge=true&namespace=team', undefined],
    ['DELETE', '/v1/job/web?purge=T&namespace=team', undefined],
    ['DELETE', '/v1/job/web?%70urge=true&namespace=team', undefined],
    ['PUT', '/v1/job/web/%70eriodic/force?namespace=team', {}],
    ['PUT', '/v1/job/web/constructor?namespace=team', {}],
  ] as const)('%s %s is refused without its right', async (method, url, body) => {
    expect(await cluster.statusOf(method, url, await cluster.tokenWith(rules), body)).toBe(DENIED);
    expect(await cluster.statusOf(method, url, '', body)).toBe(DENIED);
  });

  it('a version with volumes is registered again only by those who may mount them', async () => {
    const withVolume = { ...shellJob('mounts', 'true'), Namespace: TEAM };
    const [group] = (withVolume as unknown as { TaskGroups: Record<string, unknown>[] }).TaskGroups;
    Object.assign(group ?? {}, { Volumes: { data: { Name: 'data', Type: 'host', Source: 'secrets' } } });
    const mounts = 'host_volume "secrets" { policy = "write" }\n';
    const register = (Job: object, token: string) =>
      cluster.statusOf('PUT', `/v1/jobs?namespace=${TEAM}`, token, { Job });
    const [plain, mounter] = [
      await cluster.tokenWith(inNamespace(TEAM, ['submit-job'])),
      await cluster.tokenWith(inNamespace(TEAM, ['submit-job']) + mounts),
    ];
    expect(await register(withVolume, plain)).toBe(DENIED);
    expect(await register(withVolume, mounter)).toBe(200);
    expect(await register({ ...shellJob('mounts', 'false'), Namespace: TEAM }, plain)).toBe(200);
    const revert = (token: string) =>
      cluster.statusOf('PUT', `/v1/job/mounts/revert?namespace=${TEAM}`, token, { JobID: 'mounts', JobVersion: 0 });
    expect(await revert(plain)).toBe(DENIED);
    expect(await revert(mounter)).toBe(200);
  });

  it('an action on a deployment whose name is encoded is refused too', async () => {
    const url = `/v1/deployment/%66ail/${deploymentId}?namespace=${TEAM}`;
    for (const token of ['', await cluster.tokenWith(rules)])
      expect(await cluster.statusOf('PUT', url, token, {})).toBe(DENIED);
  });
});
