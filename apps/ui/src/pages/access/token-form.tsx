import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { saveToken, type TokenDraft } from '../../api/changes.js';
import type { ACLToken } from '../../api/contract.js';
import { policiesQuery, rolesQuery } from '../../api/queries.js';
import buttons from '../../components/buttons.module.css';
import { Failure } from '../../components/failure.js';
import { Card } from '../../components/page.js';
import styles from './access.module.css';

interface TokenFormProps {
  /** The token to change; undefined for a new one. */
  readonly token?: ACLToken;
  readonly onSaved: (accessor: string) => void;
  /** What else can be done instead of saving. */
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
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(draftOf(new FormData(event.currentTarget), token));
      }}
    >
      <Card>
        <div className={styles['form']}>
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
        </div>
      </Card>
      {save.isError && (
        <div className={styles['below']}>
          <Failure error={save.error} />
        </div>
      )}
      <div className={styles['choices']}>
        <button type="submit" className={`${buttons['button']} ${buttons['main']}`} disabled={save.isPending}>
          {token === undefined ? 'Create the token' : 'Save'}
        </button>
        {children}
      </div>
    </form>
  );
}

/** The policies and roles to choose from. One that is gone stays listed while the token names it. */
function Grants({ token }: { readonly token: ACLToken | undefined }) {
  const policies = useQuery(policiesQuery());
  const roles = useQuery(rolesQuery());
  const held = token?.Policies ?? [];
  const names = [...new Set([...(policies.data ?? []).map(({ Name }) => Name), ...held])].toSorted();
  const heldRoles = (token?.Roles ?? []).map(({ ID }) => ID);
  return (
    <>
      <fieldset>
        <legend>Policies</legend>
        {names.length === 0 && 'There is none yet.'}
        {names.map((name) => (
          <label key={name}>
            <input type="checkbox" name="policy" value={name} defaultChecked={held.includes(name)} />
            {name}
          </label>
        ))}
      </fieldset>
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
  const all = (name: string): readonly string[] => values.getAll(name).filter((value) => typeof value === 'string');
  const [name = '', type = '', ttl = ''] = ['name', 'type', 'ttl'].map((field) => all(field)[0] ?? '');
  return {
    ...(token && { AccessorID: token.AccessorID, Global: token.Global }),
    Name: name.trim(),
    Type: token?.Type ?? (type as ACLToken['Type']),
    Policies: all('policy'),
    Roles: all('role').map((ID) => ({ ID })),
    ...(ttl !== '' && { ExpirationTTL: ttl }),
  };
}
