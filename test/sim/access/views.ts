import type { Allocation, Evaluation, Job, ServiceRegistration, Variable } from '@waybill/model';
import type { Tables } from '@waybill/state';
import { namespacedKey } from '@waybill/state';
import type { SeededRandom } from '../kernel/seeded-random.js';
import { NAMESPACES, type Right } from './policy-texts.js';
import {
  entriesOf,
  inNamespaces,
  inOwnNamespaces,
  listQuestion,
  objectQuestion,
  partsQuestion,
  type Question,
  variablesIn,
} from './questions.js';
import type { ReadTable } from './object-history.js';
import { seesVariable, type Standing } from './reader.js';

/** Asks for something, picked from the state as it is. */
type View = (tables: Tables, random: SeededRandom) => Question;

interface Named {
  readonly Namespace: string;
  readonly ID: string;
}

const anyNamespace = (random: SeededRandom): string => random.pick([...NAMESPACES, '*', '*']);
const oneNamespace = (random: SeededRandom): string => random.pick(NAMESPACES);
const nameOfObject = ({ Namespace, ID }: Named): string => `${Namespace}/${ID}`;
const namesOfObjects = (body: unknown): readonly string[] => (entriesOf(body) as unknown as Named[]).map(nameOfObject);

const list =
  (route: string, table: ReadTable, right: Right, extra: Readonly<Record<string, string>> = {}): View =>
  (_, random) => {
    const namespace = anyNamespace(random);
    return listQuestion<Named>({
      request: { route, query: { namespace, ...extra } },
      table,
      ...inNamespaces(right, namespace),
      nameOf: nameOfObject,
      namesIn: namesOfObjects,
    });
  };

/** By its ID alone: the namespace of the request only says whether the reader may know that it is not there. */
const byId =
  (route: string, table: 'allocs' | 'evals' | 'deployment', right: Right): View =>
  (tables, random) => {
    const queried = oneNamespace(random);
    const id = pickedId([...tables[table].all()], random);
    return objectQuestion<Named>({
      request: { route, params: { id }, query: { namespace: queried } },
      table,
      key: id,
      mayAsk: ({ rights }) => rights.has(right, queried),
      maySee: ({ rights }, { Namespace }) => rights.has(right, Namespace),
    });
  };

/** By a namespace and a name. */
const byName =
  (route: string, param: string, table: ReadTable, right: Right): View =>
  (tables, random) => {
    const namespace = oneNamespace(random);
    const rows = [...tables[table].all()] as unknown as Named[];
    const id = pickedId(
      rows.filter((row) => row.Namespace === namespace || random.chance(0.1)),
      random,
    );
    const mayAsk = ({ rights }: Standing): boolean => rights.has(right, namespace);
    const key = namespacedKey(namespace, id);
    return objectQuestion({
      request: { route, params: { [param]: id }, query: { namespace } },
      table,
      key,
      mayAsk,
      maySee: mayAsk,
    });
  };

const pickedId = (rows: readonly { readonly ID: string }[], random: SeededRandom): string =>
  rows.length === 0 || random.chance(0.1) ? random.uuid() : random.pick(rows).ID;

const readsNodes = ({ rights }: Standing): boolean => rights.readsNodes;

const nodes: View = () =>
  listQuestion<{ readonly ID: string }>({
    request: { route: '/v1/nodes' },
    table: 'nodes',
    mayAsk: readsNodes,
    maySee: readsNodes,
    nameOf: ({ ID }) => ID,
    namesIn: (body) => entriesOf(body).map(({ ID }) => String(ID)),
  });

const node: View = (tables, random) => {
  const id = pickedId([...tables.nodes.all()], random);
  const request = { route: '/v1/node/:id', params: { id } };
  return objectQuestion({ request, table: 'nodes', key: id, mayAsk: readsNodes, maySee: readsNodes });
};

const allocationsOfNode: View = (tables, random) => {
  const id = pickedId([...tables.nodes.all()], random);
  return listQuestion<Allocation>({
    request: { route: '/v1/node/:id/allocations', params: { id } },
    table: 'allocs',
    mayAsk: readsNodes,
    maySee: ({ rights }, { Namespace }) => rights.has('read-job', Namespace),
    isWanted: ({ NodeID }) => NodeID === id,
    nameOf: nameOfObject,
    namesIn: namesOfObjects,
  });
};

const partsOfJob =
  (part: 'evaluations' | 'deployments', table: 'evals' | 'deployment'): View =>
  (tables, random) => {
    const namespace = oneNamespace(random);
    const jobs: Job[] = [...tables.jobs.all()].filter(({ Namespace }) => Namespace === namespace);
    const id = pickedId(jobs, random);
    return listQuestion<Evaluation>({
      request: { route: '/v1/job/*', params: { '*': `${id}/${part}` }, query: { namespace } },
      table,
      ...inNamespaces('read-job', namespace),
      isWanted: ({ JobID }) => JobID === id,
      nameOf: nameOfObject,
      namesIn: namesOfObjects,
    });
  };

const allocationsOf =
  (route: string, table: 'evals' | 'deployment', member: 'EvalID' | 'DeploymentID'): View =>
  (tables, random) => {
    const queried = oneNamespace(random);
    const id = pickedId([...tables[table].all()], random);
    const request = { route, params: { id }, query: { namespace: queried } };
    return partsQuestion({ request, right: 'read-job', queried, isWanted: (row) => row[member] === id });
  };

const services: View = (_, random) => {
  const namespace = anyNamespace(random);
  return listQuestion<ServiceRegistration>({
    request: { route: '/v1/services', query: { namespace } },
    table: 'service_registrations',
    ...inOwnNamespaces('read-job', namespace),
    nameOf: ({ Namespace, ServiceName }) => `${Namespace}/${ServiceName}`,
    namesIn: (body) =>
      entriesOf(body).flatMap(({ Namespace, Services }) =>
        entriesOf(Services).map(({ ServiceName }) => `${String(Namespace)}/${String(ServiceName)}`),
      ),
  });
};

const service: View = (tables, random) => {
  const namespace = anyNamespace(random);
  const names = [...tables.service_registrations.all()].map(({ ServiceName }) => ServiceName);
  const name = random.pick(['nothing', ...names]);
  return listQuestion<ServiceRegistration>({
    request: { route: '/v1/service/:name', params: { name }, query: { namespace } },
    table: 'service_registrations',
    ...inOwnNamespaces('read-job', namespace),
    isWanted: ({ ServiceName }) => ServiceName === name,
    nameOf: nameOfObject,
    namesIn: namesOfObjects,
  });
};

const nameOfVariable = ({ Namespace, Path }: Pick<Variable, 'Namespace' | 'Path'>): string => `${Namespace}/${Path}`;

const variables: View = (_, random) => {
  const namespace = anyNamespace(random);
  return listQuestion<Variable>({
    request: { route: '/v1/vars', query: { namespace } },
    table: 'variables',
    ...variablesIn(namespace),
    nameOf: nameOfVariable,
    namesIn: (body) => (entriesOf(body) as unknown as Variable[]).map(nameOfVariable),
  });
};

const variable: View = (tables, random) => {
  const stored = [...tables.variables.all()];
  const { Namespace, Path } =
    stored.length === 0 || random.chance(0.1)
      ? { Namespace: oneNamespace(random), Path: 'app/nothing' }
      : random.pick(stored);
  const maySee = (standing: Standing): boolean => seesVariable(standing, 'read', Namespace, Path);
  return objectQuestion({
    request: { route: '/v1/var/*', params: { '*': Path }, query: { namespace: Namespace } },
    table: 'variables',
    key: namespacedKey(Namespace, Path),
    mayAsk: maySee,
    maySee,
  });
};

const namespaces: View = () =>
  listQuestion<{ readonly Name: string }>({
    request: { route: '/v1/namespaces' },
    table: 'namespaces',
    mayAsk: () => true,
    maySee: ({ rights }, { Name }) => rights.knows(Name),
    nameOf: ({ Name }) => Name,
    namesIn: (body) => entriesOf(body).map(({ Name }) => String(Name)),
  });

const namespace: View = (_, random) => {
  const name = random.pick([...NAMESPACES, 'nowhere']);
  const maySee = ({ rights }: Standing): boolean => rights.knows(name);
  const request = { route: '/v1/namespace/*', params: { '*': name } };
  return objectQuestion({ request, table: 'namespaces', key: name, mayAsk: maySee, maySee });
};

const matchesOf = (body: unknown): Readonly<Record<string, readonly unknown[]>> =>
  (body as { readonly Matches: Readonly<Record<string, readonly unknown[]>> }).Matches;

/** By the beginning of an ID, of which no namespace is told. */
const search =
  (context: string, table: ReadTable, right: Right): View =>
  (tables, random) => {
    const namespace = anyNamespace(random);
    const rows = [...tables[table].all()] as unknown as Named[];
    const Prefix = random.chance(0.5) || rows.length === 0 ? '' : random.pick(rows).ID.slice(0, 2);
    return listQuestion<Named>({
      request: { route: '/v1/search', query: { namespace }, body: { Prefix, Context: context } },
      table,
      ...inNamespaces(right, namespace),
      isWanted: ({ ID }) => ID.startsWith(Prefix),
      nameOf: ({ ID }) => ID,
      namesIn: (body) => (matchesOf(body)[context] ?? []).map(String),
    });
  };

const searchVariables: View = (_, random) => {
  const namespace = anyNamespace(random);
  const Prefix = random.pick(['', 'app', 'nomad/']);
  return listQuestion<Variable>({
    request: { route: '/v1/search', query: { namespace }, body: { Prefix, Context: 'vars' } },
    table: 'variables',
    ...variablesIn(namespace),
    mayAsk: ({ rights }) => rights.hasVariables(namespace === '*' ? undefined : namespace),
    isWanted: ({ Path }) => Path.startsWith(Prefix),
    nameOf: ({ Path }) => Path,
    namesIn: (body) => (matchesOf(body)['vars'] ?? []).map(String),
  });
};

const searchNodes: View = () =>
  listQuestion<{ readonly ID: string }>({
    request: { route: '/v1/search', body: { Prefix: '', Context: 'nodes' } },
    table: 'nodes',
    mayAsk: readsNodes,
    maySee: readsNodes,
    nameOf: ({ ID }) => ID,
    namesIn: (body) => (matchesOf(body)['nodes'] ?? []).map(String),
  });

/** By a part of the name, with the place of what is found; the best matches alone. */
const searchFuzzily =
  (context: string, table: 'jobs' | 'allocs'): View =>
  (_, random) => {
    const namespace = anyNamespace(random);
    const Text = random.pick(['we', 're', 'port', 'ca']);
    return listQuestion<Named>({
      request: { route: '/v1/search/fuzzy', query: { namespace }, body: { Text, Context: context } },
      table,
      ...inNamespaces('read-job', namespace),
      isWhole: false,
      nameOf: nameOfObject,
      namesIn: (body) =>
        Object.values(matchesOf(body))
          .flat()
          .map((match) => (match as { readonly Scope: readonly string[] }).Scope.slice(0, 2).join('/')),
    });
  };

const policies: View = () =>
  listQuestion<{ readonly Name: string }>({
    request: { route: '/v1/acl/policies' },
    table: 'acl_policy',
    mayAsk: () => true,
    maySee: (standing, { Name }) => standing.policies.includes(Name),
    nameOf: ({ Name }) => Name,
    namesIn: (body) => entriesOf(body).map(({ Name }) => String(Name)),
  });

const roles: View = () =>
  listQuestion<{ readonly ID: string }>({
    request: { route: '/v1/acl/roles' },
    table: 'acl_roles',
    mayAsk: () => true,
    maySee: (standing, { ID }) => standing.roles.includes(ID),
    nameOf: ({ ID }) => ID,
    namesIn: (body) => entriesOf(body).map(({ ID }) => String(ID)),
  });

const tokens: View = () =>
  listQuestion<{ readonly AccessorID: string }>({
    request: { route: '/v1/acl/tokens' },
    table: 'acl_token',
    mayAsk: () => false,
    maySee: () => false,
    nameOf: ({ AccessorID }) => AccessorID,
    namesIn: () => [],
  });

const VIEWS: readonly View[] = [
  list('/v1/jobs', 'jobs', 'list-jobs'),
  list('/v1/jobs/statuses', 'jobs', 'read-job', { include_children: 'true' }),
  list('/v1/allocations', 'allocs', 'read-job'),
  list('/v1/evaluations', 'evals', 'read-job'),
  list('/v1/deployments', 'deployment', 'read-job'),
  list('/v1/volumes', 'host_volumes', 'read-host-volumes', { type: 'host' }),
  list('/v1/volumes', 'csi_volumes', 'list-volumes', { type: 'csi' }),
  byId('/v1/allocation/:id', 'allocs', 'read-job'),
  byId('/v1/evaluation/:id', 'evals', 'read-job'),
  byId('/v1/deployment/:id', 'deployment', 'read-job'),
  byName('/v1/job/*', '*', 'jobs', 'read-job'),
  byName('/v1/volume/host/:id', 'id', 'host_volumes', 'read-host-volumes'),
  allocationsOf('/v1/evaluation/:id/allocations', 'evals', 'EvalID'),
  allocationsOf('/v1/deployment/allocations/:id', 'deployment', 'DeploymentID'),
  partsOfJob('evaluations', 'evals'),
  partsOfJob('deployments', 'deployment'),
  nodes,
  node,
  allocationsOfNode,
  services,
  service,
  variables,
  variable,
  namespaces,
  namespace,
  search('jobs', 'jobs', 'read-job'),
  search('allocs', 'allocs', 'read-job'),
  search('evals', 'evals', 'read-job'),
  search('deployment', 'deployment', 'read-job'),
  search('volumes', 'csi_volumes', 'list-volumes'),
  search('host_volumes', 'host_volumes', 'read-host-volumes'),
  searchVariables,
  searchNodes,
  searchFuzzily('jobs', 'jobs'),
  searchFuzzily('allocs', 'allocs'),
  policies,
  roles,
  tokens,
];

/** Of so many questions one is asked. */
const DRAWS = 8;

/** One of all that can be asked; most often one that is open to the reader. */
export function anyQuestion(tables: Tables, random: SeededRandom, isOpen: (question: Question) => boolean): Question {
  const draws = random.chance(0.25) ? 1 : DRAWS;
  const drawn = Array.from({ length: draws }, () => random.pick(VIEWS)(tables, random));
  return drawn.find(isOpen) ?? random.pick(drawn);
}
