import type { ReactNode } from 'react';
import buttons from '../../components/buttons.module.css';
import { Failure } from '../../components/failure.js';
import { Card } from '../../components/page.js';
import styles from './access.module.css';

interface AccessFormProps {
  /** The state of the request that saves. */
  readonly save: { readonly isPending: boolean; readonly error: Error | null };
  /** The text of the button that saves. */
  readonly label: string;
  readonly onSubmit: (values: FormData) => void;
  /** Buttons beside the one that saves, such as Cancel. */
  readonly aside: ReactNode;
  /** The fields. */
  readonly children: ReactNode;
}

/** A form that saves when its button is pressed, and shows the reason when that was refused. */
export const AccessForm = ({ save, label, onSubmit, aside, children }: AccessFormProps) => (
  <form
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit(new FormData(event.currentTarget));
    }}
  >
    <Card>
      <div className={styles['form']}>{children}</div>
    </Card>
    {save.error && (
      <div className={styles['below']}>
        <Failure error={save.error} />
      </div>
    )}
    <div className={styles['choices']}>
      <button type="submit" className={`${buttons['button']} ${buttons['main']}`} disabled={save.isPending}>
        {label}
      </button>
      {aside}
    </div>
  </form>
);

/** The name of a role, policy or auth method, as the API accepts it. */
export const NameField = ({ value }: { readonly value?: string | undefined }) => (
  <label>
    Name
    <input
      name="name"
      defaultValue={value}
      required
      maxLength={128}
      pattern="[a-zA-Z0-9\-]+"
      title="Letters, digits and -"
      autoComplete="off"
      spellCheck={false}
    />
  </label>
);

/** Returns the text of a field. It is empty if the form has no such field. */
export function textIn(values: FormData, name: string): string {
  const value = values.get(name);
  return typeof value === 'string' ? value : '';
}

/** Returns the texts of all checked boxes of a name. */
export const textsOf = (values: FormData, name: string): readonly string[] =>
  values.getAll(name).filter((value) => typeof value === 'string');
