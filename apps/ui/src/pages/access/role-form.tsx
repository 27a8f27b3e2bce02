import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { saveRole } from '../../api/changes.js';
import type { ACLRole } from '../../api/contract.js';
import { AccessForm, NameField, textIn, textsOf } from './access-form.js';
import { PolicyChoice } from './policy-choice.js';

interface RoleFormProps {
  /** The role to change; undefined for a new one. */
  readonly role?: ACLRole;
  readonly onSaved: (id: string) => void;
  /** Buttons beside the one that saves, such as Cancel. */
  readonly children: ReactNode;
}

/** The name of a role, and the policies that it stands for. */
export function RoleForm({ role, onSaved, children }: RoleFormProps) {
  const save = useMutation({ mutationFn: saveRole, onSuccess: ({ ID }) => onSaved(ID) });
  return (
    <AccessForm
      save={save}
      label={role === undefined ? 'Create the role' : 'Save'}
      aside={children}
      onSubmit={(values) =>
        save.mutate({
          ...(role && { ID: role.ID }),
          Name: textIn(values, 'name').trim(),
          Description: textIn(values, 'description'),
          Policies: textsOf(values, 'policy').map((Name) => ({ Name })),
        })
      }
    >
      <NameField value={role?.Name} />
      <label>
        Description
        <input name="description" defaultValue={role?.Description} maxLength={256} autoComplete="off" />
      </label>
      <PolicyChoice held={(role?.Policies ?? []).map(({ Name }) => Name)} />
    </AccessForm>
  );
}
