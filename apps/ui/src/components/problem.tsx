import type { ReactNode } from 'react';
import styles from './problem.module.css';

interface ProblemProps {
  readonly title: string;
  /** Sentences. */
  readonly reasons: readonly string[];
  /** What happens next. */
  readonly children?: ReactNode;
}

/** What is wrong, why, and what happens next. */
export const Problem = ({ title, reasons, children }: ProblemProps) => (
  <div className={styles['problem']} role="status">
    <h2>{title}</h2>
    <ul>
      {reasons.map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
    {children !== undefined && <p>{children}</p>}
  </div>
);
