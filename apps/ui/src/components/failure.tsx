import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiFailure, NotDone } from '../api/api-failure.js';
import { missingRight } from '../api/missing-right.js';
import { routesQuery } from '../api/queries.js';
import styles from './page.module.css';

/** What went wrong, and what to do about it. */
export function Failure({ error }: { readonly error: unknown }) {
  const text = error instanceof Error ? error.message : String(error);
  const isRefused = error instanceof ApiFailure && error.status === 403;
  return (
    <div className={styles['failure']} role="alert">
      <strong>{headline(error)}</strong> {text}
      {isRefused && <Right refused={error} />}
    </div>
  );
}

/** Which right the caller would need, and the way to get it. */
function Right({ refused: { method, path } }: { readonly refused: ApiFailure }) {
  const { data = [] } = useQuery(routesQuery());
  const needs = missingRight(data, method, path);
  return (
    <p>
      {needs !== undefined && `This needs: ${needs}. `}
      <Link to="/settings/tokens">Sign in with another token</Link>
    </p>
  );
}

function headline(error: unknown): string {
  if (error instanceof NotDone) return 'Nothing was changed.';
  if (!(error instanceof ApiFailure)) return 'This page failed.';
  if (error.status === 0) return 'No connection.';
  if (error.status === 403) return 'Not allowed.';
  if (error.status === 404) return 'Not found.';
  return `The server answered ${error.status}.`;
}
