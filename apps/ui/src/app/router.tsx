import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, redirect } from '@tanstack/react-router';
import { Failure } from '../components/failure.js';
import { Empty, PageHead } from '../components/page.js';
import { readNodeFilter } from '../pages/clients/node-list-filter.js';
import { readJobFilter } from '../pages/jobs/job-list-filter.js';
import { readSearch, textsIn, writeSearch } from './address-search.js';
import { Shell } from './shell.js';

/*
 * Every address of the pages, those of Nomad's where it has the same page: the command line opens them. Each page is loaded
 * when it is first shown.
 */

const root = createRootRoute({ component: Shell });
const of = () => root;

const index = createRoute({
  getParentRoute: of,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/jobs' });
  },
});

const jobs = createRoute({
  getParentRoute: of,
  path: '/jobs',
  validateSearch: readJobFilter,
  component: lazyRouteComponent(() => import('../pages/jobs/jobs-page.js'), 'JobsPage'),
});

const runJob = createRoute({
  getParentRoute: of,
  path: '/jobs/run',
  validateSearch: textsIn('example', 'job'),
  component: lazyRouteComponent(() => import('../pages/run/run-page.js'), 'RunPage'),
});

const job = createRoute({
  getParentRoute: of,
  path: '/jobs/$job',
  component: lazyRouteComponent(() => import('../pages/jobs/job-page.js'), 'JobPage'),
});
const ofJob = () => job;

const jobOverview = createRoute({
  getParentRoute: ofJob,
  path: '/',
  component: lazyRouteComponent(() => import('../pages/jobs/job-overview.js'), 'JobOverviewPage'),
});
const jobVersions = createRoute({
  getParentRoute: ofJob,
  path: '/versions',
  component: lazyRouteComponent(() => import('../pages/jobs/job-versions.js'), 'JobVersionsPage'),
});
const jobDeployments = createRoute({
  getParentRoute: ofJob,
  path: '/deployments',
  component: lazyRouteComponent(() => import('../pages/jobs/job-lists.js'), 'JobDeploymentsPage'),
});
const jobEvaluations = createRoute({
  getParentRoute: ofJob,
  path: '/evaluations',
  component: lazyRouteComponent(() => import('../pages/jobs/job-lists.js'), 'JobEvaluationsPage'),
});
const jobDefinition = createRoute({
  getParentRoute: ofJob,
  path: '/definition',
  component: lazyRouteComponent(() => import('../pages/jobs/job-definition.js'), 'JobDefinitionPage'),
});

const allocation = createRoute({
  getParentRoute: of,
  path: '/allocations/$id',
  validateSearch: textsIn('task', 'stream'),
  component: lazyRouteComponent(() => import('../pages/allocations/allocation-page.js'), 'AllocationPage'),
});

const files = createRoute({
  getParentRoute: of,
  path: '/allocations/$id/files',
  validateSearch: textsIn('path', 'file'),
  component: lazyRouteComponent(() => import('../pages/files/files-page.js'), 'FilesPage'),
});

const terminal = createRoute({
  getParentRoute: of,
  path: '/allocations/$id/terminal',
  validateSearch: textsIn('task'),
  component: lazyRouteComponent(() => import('../pages/terminal/terminal-page.js'), 'TerminalPage'),
});

const clients = createRoute({
  getParentRoute: of,
  path: '/clients',
  validateSearch: readNodeFilter,
  component: lazyRouteComponent(() => import('../pages/clients/clients-page.js'), 'ClientsPage'),
});
const client = createRoute({
  getParentRoute: of,
  path: '/clients/$id',
  component: lazyRouteComponent(() => import('../pages/clients/client-page.js'), 'ClientPage'),
});

const topology = createRoute({
  getParentRoute: of,
  path: '/topology',
  validateSearch: textsIn('search', 'by', 'datacenter', 'pool', 'status'),
  component: lazyRouteComponent(() => import('../pages/topology/topology-page.js'), 'TopologyPage'),
});

const evaluations = createRoute({
  getParentRoute: of,
  path: '/evaluations',
  validateSearch: textsIn('search', 'status'),
  component: lazyRouteComponent(() => import('../pages/evaluations/evaluations-page.js'), 'EvaluationsPage'),
});
const evaluation = createRoute({
  getParentRoute: of,
  path: '/evaluations/$id',
  component: lazyRouteComponent(() => import('../pages/evaluations/evaluation-page.js'), 'EvaluationPage'),
});

const deployments = createRoute({
  getParentRoute: of,
  path: '/deployments',
  validateSearch: textsIn('search', 'status'),
  component: lazyRouteComponent(() => import('../pages/deployments/deployments-page.js'), 'DeploymentsPage'),
});
const deployment = createRoute({
  getParentRoute: of,
  path: '/deployments/$id',
  component: lazyRouteComponent(() => import('../pages/deployments/deployment-page.js'), 'DeploymentPage'),
});

const events = createRoute({
  getParentRoute: of,
  path: '/events',
  validateSearch: textsIn('search', 'topic', 'event'),
  component: lazyRouteComponent(() => import('../pages/events/events-page.js'), 'EventsPage'),
});

const servers = createRoute({
  getParentRoute: of,
  path: '/servers',
  component: lazyRouteComponent(() => import('../pages/servers/servers-page.js'), 'ServersPage'),
});

const services = createRoute({
  getParentRoute: of,
  path: '/services',
  validateSearch: textsIn('search', 'namespace'),
  component: lazyRouteComponent(() => import('../pages/services/services-page.js'), 'ServicesPage'),
});
const service = createRoute({
  getParentRoute: of,
  path: '/services/$service',
  component: lazyRouteComponent(() => import('../pages/services/service-page.js'), 'ServicePage'),
});

const variables = createRoute({
  getParentRoute: of,
  path: '/variables',
  validateSearch: textsIn('folder', 'search', 'namespace'),
  component: lazyRouteComponent(() => import('../pages/variables/variables-page.js'), 'VariablesPage'),
});
const newVariable = createRoute({
  getParentRoute: of,
  path: '/variables/new',
  validateSearch: textsIn('folder', 'namespace'),
  component: lazyRouteComponent(() => import('../pages/variables/new-variable-page.js'), 'NewVariablePage'),
});
const variable = createRoute({
  getParentRoute: of,
  path: '/variables/$variable',
  validateSearch: textsIn('edit'),
  component: lazyRouteComponent(() => import('../pages/variables/variable-page.js'), 'VariablePage'),
});

const storage = createRoute({
  getParentRoute: of,
  path: '/storage',
  validateSearch: textsIn('search', 'kind', 'namespace'),
  component: lazyRouteComponent(() => import('../pages/storage/storage-page.js'), 'StoragePage'),
});
const csiVolume = createRoute({
  getParentRoute: of,
  path: '/storage/csi/$volume',
  component: lazyRouteComponent(() => import('../pages/storage/csi-volume-page.js'), 'CsiVolumePage'),
});
const hostVolume = createRoute({
  getParentRoute: of,
  path: '/storage/host/$volume',
  component: lazyRouteComponent(() => import('../pages/storage/host-volume-page.js'), 'HostVolumePage'),
});
const plugin = createRoute({
  getParentRoute: of,
  path: '/storage/plugins/$plugin',
  component: lazyRouteComponent(() => import('../pages/storage/plugin-page.js'), 'PluginPage'),
});

const access = createRoute({
  getParentRoute: of,
  id: 'access',
  component: lazyRouteComponent(() => import('../pages/access/access-page.js'), 'AccessPage'),
});
const ofAccess = () => access;

const accessIndex = createRoute({
  getParentRoute: of,
  path: '/access-control',
  beforeLoad: () => {
    throw redirect({ to: '/access-control/policies' });
  },
});
const tokens = createRoute({
  getParentRoute: ofAccess,
  path: '/access-control/tokens',
  validateSearch: textsIn('search', 'kind'),
  component: lazyRouteComponent(() => import('../pages/access/tokens-page.js'), 'TokensPage'),
});
const policies = createRoute({
  getParentRoute: ofAccess,
  path: '/access-control/policies',
  validateSearch: textsIn('search'),
  component: lazyRouteComponent(() => import('../pages/access/policies-page.js'), 'PoliciesPage'),
});
const roles = createRoute({
  getParentRoute: ofAccess,
  path: '/access-control/roles',
  component: lazyRouteComponent(() => import('../pages/access/roles-page.js'), 'RolesPage'),
});
const authMethods = createRoute({
  getParentRoute: ofAccess,
  path: '/access-control/auth-methods',
  component: lazyRouteComponent(() => import('../pages/access/auth-methods-page.js'), 'AuthMethodsPage'),
});
const newToken = createRoute({
  getParentRoute: of,
  path: '/access-control/tokens/new',
  component: lazyRouteComponent(() => import('../pages/access/new-token-page.js'), 'NewTokenPage'),
});
const token = createRoute({
  getParentRoute: of,
  path: '/access-control/tokens/$accessor',
  validateSearch: textsIn('edit'),
  component: lazyRouteComponent(() => import('../pages/access/token-page.js'), 'TokenPage'),
});
const newPolicy = createRoute({
  getParentRoute: of,
  path: '/access-control/policies/new',
  component: lazyRouteComponent(() => import('../pages/access/new-policy-page.js'), 'NewPolicyPage'),
});
const policy = createRoute({
  getParentRoute: of,
  path: '/access-control/policies/$policy',
  validateSearch: textsIn('edit'),
  component: lazyRouteComponent(() => import('../pages/access/policy-page.js'), 'PolicyPage'),
});
const newRole = createRoute({
  getParentRoute: of,
  path: '/access-control/roles/new',
  component: lazyRouteComponent(() => import('../pages/access/roles-page.js'), 'NewRolePage'),
});
const role = createRoute({
  getParentRoute: of,
  path: '/access-control/roles/$role',
  validateSearch: textsIn('edit'),
  component: lazyRouteComponent(() => import('../pages/access/roles-page.js'), 'RolePage'),
});
const newAuthMethod = createRoute({
  getParentRoute: of,
  path: '/access-control/auth-methods/new',
  component: lazyRouteComponent(() => import('../pages/access/new-auth-method-page.js'), 'NewAuthMethodPage'),
});
const authMethod = createRoute({
  getParentRoute: of,
  path: '/access-control/auth-methods/$method',
  validateSearch: textsIn('edit', 'rule'),
  component: lazyRouteComponent(() => import('../pages/access/auth-method-page.js'), 'AuthMethodPage'),
});

const history = createRoute({
  getParentRoute: of,
  path: '/history/$kind/$object',
  validateSearch: textsIn('from', 'to'),
  component: lazyRouteComponent(() => import('../pages/history/history-page.js'), 'HistoryPage'),
});

const signIn = createRoute({
  getParentRoute: of,
  path: '/settings/tokens',
  validateSearch: textsIn('state', 'code', 'iss', 'error', 'error_description'),
  component: lazyRouteComponent(() => import('../pages/access/sign-in-page.js'), 'SignInPage'),
});

const NoSuchPage = () => (
  <>
    <PageHead title="No such page" />
    <Empty title="There is nothing at this address">
      <p>
        <Link to="/jobs">Go to the jobs</Link>
      </p>
    </Empty>
  </>
);

export const router = createRouter({
  routeTree: root.addChildren([
    index,
    jobs,
    runJob,
    job.addChildren([jobOverview, jobVersions, jobDeployments, jobEvaluations, jobDefinition]),
    allocation,
    files,
    terminal,
    clients,
    client,
    topology,
    evaluations,
    evaluation,
    deployments,
    deployment,
    events,
    servers,
    services,
    service,
    variables,
    newVariable,
    variable,
    storage,
    csiVolume,
    hostVolume,
    plugin,
    history,
    access.addChildren([tokens, policies, roles, authMethods]),
    accessIndex,
    newToken,
    token,
    newPolicy,
    policy,
    newRole,
    role,
    newAuthMethod,
    authMethod,
    signIn,
  ]),
  basepath: '/ui',
  // A job's address has one: `web@default`.
  pathParamsAllowedCharacters: ['@'],
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultNotFoundComponent: NoSuchPage,
  defaultErrorComponent: ({ error }) => <Failure error={error} />,
});

declare module '@tanstack/react-router' {
  interface Register {
    readonly router: typeof router;
  }
}
