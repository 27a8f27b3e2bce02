import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { saveToken, type TokenDraft } from '../../api/changes.js';
import type { ACLToken } from '../../api/contract.js';
import { rolesQuery } from '../../api/queries.js';
import { AccessForm, textIn, textsOf } from './access-form.js';
import { PolicyChoice } from './policy-choice.js';

interface TokenFormProps {
  /** The token to change; undefined for a new one. */
  readonly token?: ACLToken;
  readonly onSaved: (accessor: string) => void;
  /** Buttons beside the one that saves, such as Cancel. */
  readonly children: ReactNode;
}

const LIFETIMES = [
  ['', 'never'],
  ['1h', 'in an hour'],
  ['24h', 'in a day'],
  ['168h', 'in a week'],
  ['720h', 'in 30 days'],
] as const;

/** What a token may do. Its kind and its end are chosen when it is made. */
export function TokenForm({ token, onSaved, children }: TokenFormProps) {
  const [type, setType] = useState<ACLToken['Type']>(token?.Type ?? 'client');
  const save = useMutation({ mutationFn: saveToken, onSuccess: ({ AccessorID }) => onSaved(AccessorID) });
  return (
    <AccessForm
      save={save}
      label={token === undefined ? 'Create the token' : 'Save'}
      aside={children}
      onSubmit={(values) => save.mutate(draftOf(values, token))}
    >
      <label>
        Name
        <input name="name" defaultValue={token?.Name} maxLength={256} autoComplete="off" required />
      </label>
      {token === undefined && (
        <>
          <label>
            Kind
            <select name="type" value={type} onChange={({ target }) => setType(target.value as ACLToken['Type'])}>
              <option value="client">client: may do what its policies and roles say</option>
              <option value="management">management: may do everything</option>
            </select>
          </label>
          <label>
            Expires
            <select name="ttl" defaultValue="">
              {LIFETIMES.map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
        </>
      )}
      {type === 'client' && <Grants token={token} />}
    </AccessForm>
  );
}

/** The policies and roles to choose from. */
function Grants({ token }: { readonly token: ACLToken | undefined }) {
  const roles = useQuery(rolesQuery());
  const heldRoles = (token?.Roles ?? []).map(({ ID }) => ID);
  return (
    <>
      <PolicyChoice held={token?.Policies ?? []} />
      {(roles.data ?? []).length > 0 && (
        <fieldset>
          <legend>Roles</legend>
          {roles.data?.map(({ ID, Name }) => (
            <label key={ID}>
              <input type="checkbox" name="role" value={ID} defaultChecked={heldRoles.includes(ID)} />
              {Name}
            </label>
          ))}
        </fieldset>
      )}
    </>
  );
}

function draftOf(values: FormData, token: ACLToken | undefined): TokenDraft {
  const ttl = textIn(values, 'ttl');
  return {
    ...(token && { AccessorID: token.AccessorID, Global: token.Global }),
    Name: textIn(values, 'name').trim(),
    Type: token?.Type ?? (textIn(values, 'type') as ACLToken['Type']),
    Policies: textsOf(values, 'policy'),
    Roles: textsOf(values, 'role').map((ID) => ({ ID })),
    ...(ttl !== '' && { ExpirationTTL: ttl }),
  };
}
