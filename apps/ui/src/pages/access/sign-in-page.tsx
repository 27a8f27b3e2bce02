import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { ACLToken } from '../../api/contract.js';
import { ownTokenQuery } from '../../api/queries.js';
import { currentToken, onTokenChange, setToken } from '../../api/token.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { Failure } from '../../components/failure.js';
import { Card, PageHead, Waiting } from '../../components/page.js';
import styles from './sign-in-page.module.css';

/** Who the pages ask as: with which token, and what it may do. */
export function SignInPage() {
  const token = useSyncExternalStore(onTokenChange, currentToken);
  return (
    <>
      <PageHead title={token === '' ? 'Sign in' : 'Signed in'} />
      {token === '' ? <SignIn /> : <SignedIn />}
      <p className={styles['note']}>
        The token is kept for this tab, until it is closed. It goes to this server in a header and stands in no address.
      </p>
    </>
  );
}

function SignIn() {
  return (
    <Card>
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          const secret = new FormData(event.currentTarget).get('secret');
          if (typeof secret === 'string') setToken(secret.trim());
        }}
      >
        <label>
          Secret of the token
          <input name="secret" type="password" autoComplete="off" required />
        </label>
        <button type="submit" className={`${buttons['button']} ${buttons['main']}`}>
          Sign in
        </button>
      </form>
    </Card>
  );
}

function SignedIn() {
  const own = useQuery(ownTokenQuery());
  return (
    <>
      {own.isPending && <Waiting />}
      {own.isError && <Failure error={own.error} />}
      {own.data && <Holder token={own.data} />}
      <p className={styles['note']}>
        <button type="button" className={buttons['button']} onClick={() => setToken('')}>
          Sign out
        </button>
      </p>
    </>
  );
}

const Holder = ({ token }: { readonly token: ACLToken }) => (
  <Card>
    <Facts
      of={{
        Name: token.Name,
        Kind: token.Type,
        May: token.Type === 'management' ? 'everything' : policiesOf(token),
        Accessor: <code>{token.AccessorID}</code>,
        Expires: token.ExpirationTime ? <TimeAgo time={token.ExpirationTime} /> : 'never',
      }}
    />
  </Card>
);

function policiesOf({ Policies, Roles }: ACLToken): string {
  const named = [...(Policies ?? []), ...(Roles ?? []).map(({ Name }) => `role ${Name}`)];
  return named.length === 0 ? 'what everybody may' : `what these say: ${named.join(', ')}`;
}
