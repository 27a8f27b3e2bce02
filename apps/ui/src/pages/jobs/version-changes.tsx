import styles from './version-changes.module.css';
import type { ChangedValue } from './version-diff.js';

/** What changed, a line for each value. */
export const Diff = ({ changes }: { readonly changes: readonly ChangedValue[] }) => (
  <ul className={styles['diff']}>
    {changes.length === 0 && <li className={styles['none']}>Nothing but bookkeeping changed.</li>}
    {changes.map(({ path, kind, before, after }) => (
      <li key={path.join('\u0000')}>
        <span className={styles['path']}>{path.join(' › ')}</span>{' '}
        {kind === 'changed' ? (
          <>
            <del className={styles['before']}>{before === '' ? 'empty' : before}</del> →{' '}
            <ins className={styles['after']}>{after === '' ? 'empty' : after}</ins>
          </>
        ) : kind === 'added' ? (
          <ins className={styles['after']}>added{after === '' ? '' : `: ${after}`}</ins>
        ) : (
          <del className={styles['before']}>removed{before === '' ? '' : `: ${before}`}</del>
        )}
      </li>
    ))}
  </ul>
);
