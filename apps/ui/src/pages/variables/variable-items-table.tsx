import { useState } from 'react';
import buttons from '../../components/buttons.module.css';
import { Card } from '../../components/page.js';
import styles from './variable-items-table.module.css';

/** The items of a variable. A value is in the page only while it is shown, so that nobody reads it over a shoulder. */
export function VariableItems({ items }: { readonly items: Readonly<Record<string, string>> }) {
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set());
  const turn = (key: string): void =>
    setShown((before) =>
      before.has(key) ? new Set([...before].filter((one) => one !== key)) : new Set([...before, key]),
    );
  return (
    <Card>
      <dl className={styles['items']}>
        {Object.entries(items)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, value]) => (
            <div key={key} className={styles['item']}>
              <dt>
                <code>{key}</code>
              </dt>
              <dd>
                {shown.has(key) ? (
                  <pre tabIndex={0} aria-label={`Value of ${key}`}>
                    {value}
                  </pre>
                ) : (
                  <span className={styles['hidden']}>hidden</span>
                )}
                <span className={styles['choices']}>
                  <button
                    type="button"
                    className={buttons['button']}
                    aria-label={`${shown.has(key) ? 'Hide' : 'Show'} ${key}`}
                    onClick={() => turn(key)}
                  >
                    {shown.has(key) ? 'Hide' : 'Show'}
                  </button>
                  {'clipboard' in navigator && (
                    <button
                      type="button"
                      className={buttons['button']}
                      aria-label={`Copy ${key}`}
                      onClick={() => void navigator.clipboard.writeText(value)}
                    >
                      Copy
                    </button>
                  )}
                </span>
              </dd>
            </div>
          ))}
      </dl>
    </Card>
  );
}
