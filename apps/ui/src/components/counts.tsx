import styles from './counts.module.css';
import type { Tone } from './status.js';

export interface Counted {
  readonly name: string;
  readonly tone: Tone;
  readonly count: number;
}

/** How many are in which state: as parts of a bar, and in words. */
export function Counts({ of, none }: { readonly of: readonly Counted[]; readonly none: string }) {
  const text = of.length === 0 ? none : of.map(({ name, count }) => `${count.toLocaleString('en')} ${name}`).join(', ');
  return (
    <span className={styles['counts']} title={text}>
      <span className={styles['bar']} aria-hidden="true">
        {of.map(({ name, tone, count }) => (
          <span key={name} className={styles[tone]} style={{ flexGrow: count }} />
        ))}
      </span>
      <span className={styles['text']}>{text}</span>
    </span>
  );
}
