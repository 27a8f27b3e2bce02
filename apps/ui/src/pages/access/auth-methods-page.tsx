import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ACLAuthMethodListStub } from '../../api/contract.js';
import { authMethodsQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { Filters } from '../../components/filters.js';
import { Empty } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';

const METHOD_COLUMNS: readonly Column<ACLAuthMethodListStub>[] = [
  {
    title: 'Method',
    px: 130,
    share: 2,
    cell: ({ Name }) => (
      <Link to="/access-control/auth-methods/$method" params={{ method: Name }}>
        {Name}
      </Link>
    ),
  },
  { title: 'Kind', px: 70, share: 1, cell: ({ Type }) => Type },
  { title: 'Default', px: 70, share: 1, cell: ({ Default }) => (Default ? 'yes' : '') },
];

export function AuthMethodsPage() {
  const mayCreate = useMay({ route: 'createAuthMethod' });
  return (
    <>
      {mayCreate === true && (
        <Filters>
          <Link to="/access-control/auth-methods/new" className={buttons['button']}>
            New auth method
          </Link>
        </Filters>
      )}
      <Answer of={useQuery(authMethodsQuery())}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No auth methods">
              <p>An auth method lets people and programs sign in with another system.</p>
            </Empty>
          ) : (
            <Rows label="Auth methods" columns={METHOD_COLUMNS} rows={all} keyOf={({ Name }) => Name} />
          )
        }
      </Answer>
    </>
  );
}
