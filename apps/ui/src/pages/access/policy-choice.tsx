import { useQuery } from '@tanstack/react-query';
import { policiesQuery } from '../../api/queries.js';

/** Policies to choose from, as boxes named `policy`. One that is gone stays listed while the object names it. */
export function PolicyChoice({ held }: { readonly held: readonly string[] }) {
  const policies = useQuery(policiesQuery());
  const names = [...new Set([...(policies.data ?? []).map(({ Name }) => Name), ...held])].toSorted();
  return (
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
  );
}
