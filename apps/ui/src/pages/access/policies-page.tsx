import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ACLPolicyListStub } from '../../api/contract.js';
import { policiesQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { Filters, SearchField } from '../../components/filters.js';
import { Empty } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { PolicyLink } from './access-links.js';
import { jobOfPolicy } from './policy-job.js';

const route = getRouteApi('/access/access-control/policies');

const COLUMNS: readonly Column<ACLPolicyListStub>[] = [
  { title: 'Policy', px: 130, share: 1, cell: ({ Name }) => <PolicyLink name={Name} /> },
  { title: 'For', extra: true, px: 130, share: 1, cell: (policy) => jobOfPolicy(policy) ?? 'tokens and roles' },
  { title: 'About', px: 150, share: 3, cell: ({ Description }) => Description || '—' },
];

export function PoliciesPage() {
  const { search = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const policies = useQuery(policiesQuery());
  const mayWrite = useMay({ route: 'writePolicy' });
  const text = search.trim().toLowerCase();
  return (
    <>
      <Filters>
        <SearchField
          label="Search by name or description"
          value={search}
          onChange={(next) => void navigate({ search: { search: next }, replace: true })}
        />
        {mayWrite === true && (
          <Link to="/access-control/policies/new" className={buttons['button']}>
            New policy
          </Link>
        )}
      </Filters>
      <Answer of={policies}>
        {(all) => {
          const rows = all.filter(({ Name, Description }) => `${Name} ${Description}`.toLowerCase().includes(text));
          if (all.length === 0)
            return (
              <Empty title="No policies">
                <p>A policy grants rights. Tokens name the policies that they have.</p>
              </Empty>
            );
          if (rows.length === 0) return <Empty title="No policy matches" />;
          return <Rows label="Policies" columns={COLUMNS} rows={rows} keyOf={({ Name }) => Name} />;
        }}
      </Answer>
    </>
  );
}
