import styles from './tags.module.css';

/** Words that someone has put on an object. */
export const Tags = ({ of }: { readonly of: readonly string[] }) =>
  of.length === 0 ? (
    '—'
  ) : (
    <span className={styles['tags']} title={of.join(', ')}>
      {of.map((tag) => (
        <span key={tag} className={styles['tag']}>
          {tag}
        </span>
      ))}
    </span>
  );
