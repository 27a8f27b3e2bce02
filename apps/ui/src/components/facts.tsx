import type { ReactNode } from 'react';
import styles from './facts.module.css';

/** Names and values beside each other; a pair whose value is undefined is left out. */
export function Facts({ of }: { readonly of: Readonly<Record<string, ReactNode>> }) {
  return (
    <dl className={styles['facts']}>
      {Object.entries(of).map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
