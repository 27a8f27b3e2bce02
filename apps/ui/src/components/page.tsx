import { type ReactNode, useEffect } from 'react';
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

export const Waiting = () => (
  <div className={styles['waiting']} role="status">
    Loading…
  </div>
);
