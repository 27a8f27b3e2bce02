import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { savePolicy } from '../../api/changes.js';
import type { ACLPolicy } from '../../api/contract.js';
import buttons from '../../components/buttons.module.css';
import { Failure } from '../../components/failure.js';
import { Card } from '../../components/page.js';
import styles from './access.module.css';

interface PolicyFormProps {
  /** The policy to change; undefined for a new one. */
  readonly policy?: ACLPolicy;
  readonly onSaved: (name: string) => void;
  /** What else can be done instead of saving. */
  readonly children: ReactNode;
}

const EXAMPLE = `namespace "default" {
  policy = "read"
}
`;

/** The rules of a policy, in HCL. The server says what is wrong with them. */
export function PolicyForm({ policy, onSaved, children }: PolicyFormProps) {
  const save = useMutation({ mutationFn: savePolicy, onSuccess: (_, { Name }) => onSaved(Name) });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const values = new FormData(event.currentTarget);
        const text = (name: string): string => {
          const value = values.get(name);
          return typeof value === 'string' ? value : '';
        };
        save.mutate({
          Name: policy?.Name ?? text('name').trim(),
          Description: text('description'),
          Rules: text('rules'),
          JobACL: policy?.JobACL ?? null,
        });
      }}
    >
      <Card>
        <div className={styles['form']}>
          {policy === undefined && (
            <label>
              Name
              <input
                name="name"
                required
                maxLength={128}
                pattern="[a-zA-Z0-9\-]+"
                title="Letters, digits and -"
                autoComplete="off"
                spellCheck={false}
              />
            </label>
          )}
          <label>
            Description
            <input name="description" defaultValue={policy?.Description} maxLength={256} autoComplete="off" />
          </label>
          <label>
            Rules
            <textarea name="rules" defaultValue={policy?.Rules ?? EXAMPLE} required spellCheck={false} />
          </label>
        </div>
      </Card>
      {save.isError && (
        <div className={styles['below']}>
          <Failure error={save.error} />
        </div>
      )}
      <div className={styles['choices']}>
        <button type="submit" className={`${buttons['button']} ${buttons['main']}`} disabled={save.isPending}>
          {policy === undefined ? 'Create the policy' : 'Save'}
        </button>
        {children}
      </div>
    </form>
  );
}
