import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useSyncExternalStore } from 'react';
import type { ACLAuthMethod, ACLToken } from '../../api/contract.js';
import { signInWithJwt } from '../../api/changes.js';
import { authMethodsQuery, ownTokenQuery } from '../../api/queries.js';
import { currentToken, onTokenChange, setToken } from '../../api/token.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { Failure } from '../../components/failure.js';
import { Card, PageHead, Waiting } from '../../components/page.js';
import { textIn } from './access-form.js';
import { beginSignIn, completeSignIn, isAnswer } from './oidc-sign-in.js';
import styles from './sign-in-page.module.css';
import { rightsInWords } from './token-rights.js';

const route = getRouteApi('/settings/tokens');

/** Who the pages ask as: with which token, and what it may do. */
export function SignInPage() {
  const token = useSyncExternalStore(onTokenChange, currentToken);
  return (
    <>
      <PageHead title={token === '' ? 'Sign in' : 'Signed in'} />
      <SentBack />
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
      <Providers />
    </Card>
  );
}

/** The auth methods by which people and programs sign in elsewhere. There is none while access control is off. */
function Providers() {
  const { data = [] } = useQuery(authMethodsQuery());
  const named = (kind: ACLAuthMethod['Type']): readonly string[] =>
    data
      .filter(({ Type }) => Type === kind)
      .toSorted((a, b) => Number(b.Default) - Number(a.Default))
      .map(({ Name }) => Name);
  return (
    <>
      <ProviderButtons methods={named('OIDC')} />
      <SignedTokenForm methods={named('JWT')} />
    </>
  );
}

function ProviderButtons({ methods }: { readonly methods: readonly string[] }) {
  const leave = useMutation({ mutationFn: beginSignIn });
  if (methods.length === 0) return undefined;
  return (
    <div className={styles['providers']}>
      {methods.map((name) => (
        <button
          key={name}
          type="button"
          className={buttons['button']}
          disabled={leave.isPending}
          onClick={() => leave.mutate(name)}
        >
          Sign in with {name}
        </button>
      ))}
      {leave.isError && <Failure error={leave.error} />}
    </div>
  );
}

/** Exchanges a token that another system has signed. It is sent once and kept nowhere. */
function SignedTokenForm({ methods }: { readonly methods: readonly string[] }) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: ({ method, token }: { readonly method: string; readonly token: string }) =>
      signInWithJwt(method, token),
    onSuccess: ({ SecretID }) => setToken(SecretID),
  });
  if (methods.length === 0) return undefined;
  return (
    <form
      className={`${styles['form']} ${styles['apart']}`}
      onSubmit={(event) => {
        event.preventDefault();
        const values = new FormData(event.currentTarget);
        mutate({ method: textIn(values, 'method'), token: textIn(values, 'jwt').trim() });
      }}
    >
      <label className={styles['short']}>
        Auth method
        <select name="method">
          {methods.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        Signed token (JWT)
        <input name="jwt" type="password" autoComplete="off" required />
      </label>
      <button type="submit" className={buttons['button']} disabled={isPending}>
        Sign in with the signed token
      </button>
      {error && <Failure error={error} />}
    </form>
  );
}

/** Completes the sign-in with which a provider has sent the browser back, and takes its code out of the address. */
function SentBack() {
  const answer = route.useSearch();
  const navigate = route.useNavigate();
  const { mutate, isPending, error } = useMutation({
    mutationFn: completeSignIn,
    onSuccess: ({ SecretID }) => setToken(SecretID),
  });
  useEffect(() => {
    if (!isAnswer(answer)) return;
    mutate(answer);
    void navigate({ search: {}, replace: true });
  }, [answer, mutate, navigate]);
  return (
    <>
      {isPending && <Waiting />}
      {error && <Failure error={error} />}
    </>
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
        May: rightsInWords(token),
        Accessor: <code>{token.AccessorID}</code>,
        Expires: token.ExpirationTime ? <TimeAgo time={token.ExpirationTime} /> : 'never',
      }}
    />
  </Card>
);
