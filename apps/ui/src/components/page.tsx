import { type ReactNode, useEffect } from 'react';
import { ApiFailure } from '../api/api-failure.js';
import styles from './page.module.css';

interface PageHeadProps {
  readonly title: string;
  /** Stands beside the title: the state of what is shown. */
  readonly state?: ReactNode;
  /** Where the page belongs. */
  readonly above?: ReactNode;
  readonly about?: ReactNode;
  readonly children?: ReactNode;
}

/** The top of a page, and the title of its tab. */
export function PageHead({ title, state, above, about, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} – Waybill`;
  }, [title]);
  return (
    <div className={styles['head']}>
      <div>
        {above !== undefined && <div className={styles['above']}>{above}</div>}
        <div className={styles['title']}>
          <h1>{title}</h1>
          {state}
        </div>
        {about !== undefined && <div className={styles['about']}>{about}</div>}
      </div>
      {children !== undefined && <div className={styles['actions']}>{children}</div>}
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  readonly note?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, note, children }: SectionProps) {
  return (
    <section className={styles['section']}>
      <div className={styles['sectionHead']}>
        <h2>{title}</h2>
        {note !== undefined && <span>{note}</span>}
      </div>
      {children}
    </section>
  );
}

export const Card = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles['card']}>{children}</div>
);

/** Why a list has nothing in it, and what to do. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className={styles['empty']}>
    <h2>{title}</h2>
    {children}
  </div>
);

/** What went wrong, and what to do about it. */
export function Failure({ error }: { readonly error: unknown }) {
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div className={styles['failure']} role="alert">
      <strong>{headline(error)}</strong> {text}
    </div>
  );
}

function headline(error: unknown): string {
  if (!(error instanceof ApiFailure)) return 'This page failed.';
  if (error.status === 0) return 'No connection.';
  if (error.status === 403) return 'Not allowed.';
  if (error.status === 404) return 'Not found.';
  return `The server answered ${error.status}.`;
}

export const Waiting = () => (
  <div className={styles['waiting']} role="status">
    Loading…
  </div>
);
