import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import { saveBindingRule } from '../../api/changes.js';
import type { ACLBindingRule } from '../../api/contract.js';
import { policiesQuery, rolesQuery } from '../../api/queries.js';
import { AccessForm, textIn } from './access-form.js';

interface BindingRuleFormProps {
  /** The name of the auth method. */
  readonly method: string;
  /** The rule to change; undefined for a new one. */
  readonly rule?: ACLBindingRule | undefined;
  readonly onSaved: () => void;
  /** Buttons beside the one that saves, such as Cancel. */
  readonly children: ReactNode;
}

/** A form for the grant of a binding rule and the logins that get it. */
export function BindingRuleForm({ method, rule, onSaved, children }: BindingRuleFormProps) {
  const [type, setType] = useState<ACLBindingRule['BindType']>(rule?.BindType ?? 'policy');
  const save = useMutation({ mutationFn: saveBindingRule, onSuccess: onSaved });
  return (
    <AccessForm
      save={save}
      label={rule === undefined ? 'Create the rule' : 'Save'}
      aside={children}
      onSubmit={(values) =>
        save.mutate({
          ...(rule && { ID: rule.ID }),
          AuthMethod: method,
          Description: textIn(values, 'description'),
          BindType: type,
          BindName: type === 'management' ? '' : textIn(values, 'name').trim(),
          Selector: textIn(values, 'selector').trim(),
        })
      }
    >
      <label>
        Grants
        <select value={type} onChange={({ target }) => setType(target.value as ACLBindingRule['BindType'])}>
          <option value="policy">a policy</option>
          <option value="role">a role</option>
          <option value="management">everything, as a management token</option>
        </select>
      </label>
      {type !== 'management' && (
        <GrantedName key={type} type={type} name={rule?.BindType === type ? rule.BindName : ''} />
      )}
      <label>
        To logins with (a selector; empty for every login)
        <input
          name="selector"
          defaultValue={rule?.Selector}
          placeholder={'"platform" in list.groups'}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <label>
        Description
        <input name="description" defaultValue={rule?.Description} maxLength={256} autoComplete="off" />
      </label>
    </AccessForm>
  );
}

/** The name of a policy or role; a claim may be a part of it: `team-${value.team}`. */
function GrantedName({ type, name }: { readonly type: 'policy' | 'role'; readonly name: string }) {
  const list = useId();
  const policies = useQuery({ ...policiesQuery(), enabled: type === 'policy' });
  const roles = useQuery({ ...rolesQuery(), enabled: type === 'role' });
  const names = ((type === 'policy' ? policies.data : roles.data) ?? []).map(({ Name }) => Name);
  return (
    <label>
      Name of the {type}
      <input name="name" defaultValue={name} list={list} required autoComplete="off" spellCheck={false} />
      <datalist id={list}>
        {names.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </datalist>
    </label>
  );
}
