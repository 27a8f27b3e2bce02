import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { evaluationsQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { Empty, PageHead } from '../../components/page.js';
import { Rows } from '../../components/rows.js';
import { EVALUATION_COLUMNS } from './evaluation-columns.js';

const route = getRouteApi('/evaluations');

const STATES = ['blocked', 'pending', 'complete', 'failed', 'canceled'];

/** The newest evaluations. */
export function EvaluationsPage() {
  const { search = '', status } = route.useSearch();
  const navigate = route.useNavigate();
  const evaluations = useQuery(evaluationsQuery(status));
  const choose = (change: { search?: string; status?: string }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const text = search.toLowerCase();
  return (
    <>
      <PageHead title="Evaluations" about="Each is one look of a scheduler at a job: what should run, and where." />
      <Filters>
        <SearchField label="Search by job or ID" value={search} onChange={(to) => choose({ search: to })} />
        <Choice
          label="State"
          all="All states"
          options={STATES}
          value={status}
          onChange={(to) => choose({ status: to })}
        />
      </Filters>
      <Answer of={evaluations}>
        {(all) => {
          const rows = all.filter(({ ID, JobID = '' }) => `${JobID} ${ID}`.toLowerCase().includes(text));
          return rows.length === 0 ? (
            <Empty title="No evaluation matches" />
          ) : (
            <Rows label="Evaluations" columns={EVALUATION_COLUMNS} rows={rows} keyOf={({ ID }) => ID} />
          );
        }}
      </Answer>
    </>
  );
}
