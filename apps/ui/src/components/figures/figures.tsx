import type { ReactNode } from 'react';
import { Failure } from '../failure.js';
import { Card, Section, Waiting } from '../page.js';
import styles from './figures.module.css';
import type { Samples } from './samples.js';

interface FiguresProps {
  readonly title: string;
  readonly of: { readonly data: Samples | undefined; readonly error: unknown };
  readonly children: (samples: Samples) => ReactNode;
}

/** Figures beside each other, from the samples that the page has taken since it was opened. */
export function Figures({ title, of: { data, error }, children }: FiguresProps) {
  return (
    <Section title={title} note="measured while this page is shown, for ten minutes at most">
      {error !== null && <Failure error={error} />}
      <Card>{data ? <div className={styles['figures']}>{children(data)}</div> : error === null && <Waiting />}</Card>
    </Section>
  );
}
