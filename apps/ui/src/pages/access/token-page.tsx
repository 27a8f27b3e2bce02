import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { deleteToken } from '../../api/changes.js';
import type { ACLToken } from '../../api/contract.js';
import { tokenQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo, useNow } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { shortId } from '../../components/object-links.js';
import { Card, PageHead } from '../../components/page.js';
import { StateOf } from '../../components/status.js';
import { PolicyLink, RoleLink } from './access-links.js';
import { TokenForm } from './token-form.js';
import { stateOfToken } from './token-rights.js';

const route = getRouteApi('/access-control/tokens/$accessor');

/** One token: what it may do, and its secret when asked for. */
export function TokenPage() {
  const { accessor } = route.useParams();
  const { edit } = route.useSearch();
  const navigate = route.useNavigate();
  const leave = (): void => void navigate({ search: {} });
  return (
    <Answer of={useQuery(tokenQuery(accessor))}>
      {(token) => (
        <>
          <Head token={token} isEdited={edit !== undefined} />
          {edit === undefined ? (
            <TokenView token={token} />
          ) : (
            <TokenForm token={token} onSaved={leave}>
              <button type="button" className={buttons['button']} onClick={leave}>
                Cancel
              </button>
            </TokenForm>
          )}
        </>
      )}
    </Answer>
  );
}

function Head({ token, isEdited }: { readonly token: ACLToken; readonly isEdited: boolean }) {
  const navigate = route.useNavigate();
  const mayWrite = useMay({ route: 'changeToken' });
  const name = token.Name || shortId(token.AccessorID);
  return (
    <PageHead
      title={name}
      above={<Link to="/access-control/tokens">Tokens</Link>}
      state={<StateOf state={stateOfToken(token, useNow())} />}
    >
      {!isEdited && (
        <>
          {mayWrite === true && (
            <Link
              to="/access-control/tokens/$accessor"
              params={{ accessor: token.AccessorID }}
              search={{ edit: 'token' }}
              className={buttons['button']}
            >
              Edit
            </Link>
          )}
          <Action
            needs={{ route: 'deleteToken' }}
            label="Delete"
            tone="danger"
            title={`Delete the token ${name}?`}
            text="Requests with its secret are refused from then on. This cannot be undone."
            run={async () => {
              await deleteToken(token.AccessorID);
              await navigate({ to: '/access-control/tokens' });
            }}
          />
        </>
      )}
    </PageHead>
  );
}

const TokenView = ({ token }: { readonly token: ACLToken }) => (
  <Card>
    <Facts
      of={{
        Accessor: <code>{token.AccessorID}</code>,
        Secret: <Secret of={token} />,
        Kind: token.Type,
        Policies: token.Type === 'management' ? 'may do everything' : <Policies of={token} />,
        Roles: (token.Roles ?? []).length === 0 ? undefined : <Roles of={token} />,
        Regions: token.Global ? 'all' : 'this one',
        Created: <TimeAgo time={token.CreateTime} />,
        Expires: token.ExpirationTime === null ? 'never' : <TimeAgo time={token.ExpirationTime} />,
      }}
    />
  </Card>
);

const Policies = ({ of: { Policies: names } }: { readonly of: ACLToken }) =>
  (names ?? []).length === 0 ? 'none' : names?.map((name) => <PolicyLink key={name} name={name} />);

const Roles = ({ of: { Roles: roles } }: { readonly of: ACLToken }) =>
  roles?.map((role) => <RoleLink key={role.ID} id={role.ID} name={role.Name} />);

function Secret({ of: { SecretID } }: { readonly of: ACLToken }) {
  const [isShown, setShown] = useState(false);
  if (SecretID === '') return 'not shown to you';
  return (
    <>
      {isShown && <code>{SecretID}</code>}{' '}
      <button type="button" className={buttons['button']} onClick={() => setShown(!isShown)}>
        {isShown ? 'Hide the secret' : 'Show the secret'}
      </button>
    </>
  );
}
