import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { savePolicy } from '../../api/changes.js';
import type { ACLPolicy } from '../../api/contract.js';
import { AccessForm, NameField, textIn } from './access-form.js';

interface PolicyFormProps {
  /** The policy to change; undefined for a new one. */
  readonly policy?: ACLPolicy;
  readonly onSaved: (name: string) => void;
  /** Buttons beside the one that saves, such as Cancel. */
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
    <AccessForm
      save={save}
      label={policy === undefined ? 'Create the policy' : 'Save'}
      aside={children}
      onSubmit={(values) =>
        save.mutate({
          Name: policy?.Name ?? textIn(values, 'name').trim(),
          Description: textIn(values, 'description'),
          Rules: textIn(values, 'rules'),
          JobACL: policy?.JobACL ?? null,
        })
      }
    >
      {policy === undefined && <NameField />}
      <label>
        Description
        <input name="description" defaultValue={policy?.Description} maxLength={256} autoComplete="off" />
      </label>
      <label>
        Rules
        <textarea name="rules" defaultValue={policy?.Rules ?? EXAMPLE} required spellCheck={false} />
      </label>
    </AccessForm>
  );
}
