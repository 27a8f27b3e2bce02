import { bytesInWords, megahertzInWords } from '../../words/sizes.js';
import { Failure } from '../failure.js';
import { Card, Section, Waiting } from '../page.js';
import { Figure, type Line, STEPS_OF_BYTES } from './figure.js';
import type { Samples } from './samples.js';
import styles from './usage-figures.module.css';

interface UsageFiguresProps {
  readonly of: { readonly data: Samples | undefined; readonly error: unknown };
  /** In MHz. */
  readonly cpu: readonly Line[];
  /** In bytes. */
  readonly memory: readonly Line[];
}

/** The use of CPU and memory beside each other, from the samples that the page has taken since it was opened. */
export function UsageFigures({ of: { data, error }, cpu, memory }: UsageFiguresProps) {
  return (
    <Section title="Use of resources" note="measured while this page is shown, for ten minutes at most">
      {error !== null && <Failure error={error} />}
      <Card>
        {data ? (
          <div className={styles['figures']}>
            <Figure title="CPU" lines={cpu} samples={data} inWords={megahertzInWords} />
            <Figure title="Memory" lines={memory} samples={data} inWords={bytesInWords} steps={STEPS_OF_BYTES} />
          </div>
        ) : (
          error === null && <Waiting />
        )}
      </Card>
    </Section>
  );
}
