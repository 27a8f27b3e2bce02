import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ACLTokenListStub } from '../../api/contract.js';
import { tokensQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo, useNow } from '../../components/clock.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { shortId } from '../../components/object-links.js';
import { Empty } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { filteredTokens, rightsInWords, stateOfToken, type TokenFilter } from './token-rights.js';

const route = getRouteApi('/access/access-control/tokens');

const TOKEN_COLUMNS: readonly Column<ACLTokenListStub>[] = [
  { title: 'Name', px: 130, share: 2, cell: (token) => <TokenLink token={token} /> },
  { title: 'State', px: 90, cell: (token) => <TokenState token={token} /> },
  { title: 'Kind', extra: true, px: 96, cell: ({ Type }) => Type },
  {
    title: 'May do',
    extra: true,
    px: 150,
    share: 3,
    cell: (token) => <span title={rightsInWords(token)}>{rightsInWords(token)}</span>,
  },
  {
    title: 'Expires',
    px: 90,
    align: 'right',
    cell: ({ ExpirationTime }) => (ExpirationTime === null ? 'never' : <TimeAgo time={ExpirationTime} />),
  },
];

const TokenLink = ({ token: { AccessorID, Name } }: { readonly token: ACLTokenListStub }) => (
  <Link to="/access-control/tokens/$accessor" params={{ accessor: AccessorID }} title={AccessorID}>
    {Name || shortId(AccessorID)}
  </Link>
);

const TokenState = ({ token }: { readonly token: ACLTokenListStub }) => (
  <StateOf state={stateOfToken(token, useNow())} />
);

/** Tokens that were found elsewhere, such as those of a policy. */
export const TokenRows = ({ rows }: { readonly rows: readonly ACLTokenListStub[] }) => (
  <Rows label="Tokens" columns={TOKEN_COLUMNS} rows={rows} keyOf={({ AccessorID }) => AccessorID} />
);

export function TokensPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const tokens = useQuery(tokensQuery());
  const mayWrite = useMay({ route: 'createToken' });
  const choose = (change: TokenFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <>
      <Filters>
        <SearchField
          label="Search by name, accessor or policy"
          value={filter.search}
          onChange={(search) => choose({ search })}
        />
        <Choice
          label="Kind"
          all="All kinds"
          options={['client', 'management']}
          value={filter.kind}
          onChange={(kind) => choose({ kind })}
        />
        {mayWrite === true && (
          <Link to="/access-control/tokens/new" className={buttons['button']}>
            New token
          </Link>
        )}
      </Filters>
      <Answer of={tokens}>
        {(all) => {
          const rows = filteredTokens(all, filter);
          return rows.length === 0 ? <Empty title="No token matches" /> : <TokenRows rows={rows} />;
        }}
      </Answer>
    </>
  );
}
