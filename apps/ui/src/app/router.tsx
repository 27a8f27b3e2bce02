import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, redirect } from '@tanstack/react-router';
import { Empty, Failure, PageHead } from '../components/page.js';
import { readJobFilter } from '../pages/jobs/job-list-filter.js';
import { readSearch, writeSearch } from './address-search.js';
import { Shell } from './shell.js';

const root = createRootRoute({ component: Shell });

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/jobs' });
  },
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: '/jobs',
  validateSearch: readJobFilter,
  component: lazyRouteComponent(() => import('../pages/jobs/jobs-page.js'), 'JobsPage'),
});

const job = createRoute({
  getParentRoute: () => root,
  path: '/jobs/$job',
  component: lazyRouteComponent(() => import('../pages/jobs/job-page.js'), 'JobPage'),
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
  routeTree: root.addChildren([index, jobs, job]),
  basepath: '/ui',
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
