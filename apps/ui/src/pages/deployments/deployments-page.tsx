import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { deploymentsQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { Empty, PageHead } from '../../components/page.js';
import { Rows } from '../../components/rows.js';
import { DEPLOYMENT_COLUMNS } from './deployment-columns.js';

const route = getRouteApi('/deployments');

const STATES = ['running', 'paused', 'blocked', 'successful', 'failed', 'cancelled'];

/** The newest rollouts. */
export function DeploymentsPage() {
  const { search = '', status } = route.useSearch();
  const navigate = route.useNavigate();
  const deployments = useQuery(deploymentsQuery());
  const choose = (change: { search?: string; status?: string }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <>
      <PageHead title="Deployments" about="Each is the rollout of one version of a job." />
      <Filters>
        <SearchField label="Search by job" value={search} onChange={(to) => choose({ search: to })} />
        <Choice
          label="State"
          all="All states"
          options={STATES}
          value={status}
          onChange={(to) => choose({ status: to })}
        />
      </Filters>
      <Answer of={deployments}>
        {(all) => {
          const rows = all
            .filter(({ JobID }) => JobID.toLowerCase().includes(search.toLowerCase()))
            .filter(({ Status }) => status === undefined || Status === status);
          return rows.length === 0 ? (
            <Empty title={all.length === 0 ? 'No deployments yet' : 'No deployment matches'} />
          ) : (
            <Rows label="Deployments" columns={DEPLOYMENT_COLUMNS} rows={rows} keyOf={({ ID }) => ID} />
          );
        }}
      </Answer>
    </>
  );
}
