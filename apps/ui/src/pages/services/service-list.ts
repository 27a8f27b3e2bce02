import type { NamespaceServices } from '../../api/contract.js';

export interface ServiceRow {
  readonly name: string;
  readonly namespace: string;
  readonly tags: readonly string[];
}

export interface ServiceFilter {
  /** A text in the name or in a tag. */
  readonly search?: string;
  readonly namespace?: string;
}

/** Returns the services that pass the filter, by name. */
export function filteredServices(
  all: readonly NamespaceServices[],
  { search = '', namespace }: ServiceFilter,
): readonly ServiceRow[] {
  const text = search.trim().toLowerCase();
  return all
    .filter(({ Namespace }) => namespace === undefined || Namespace === namespace)
    .flatMap(({ Namespace, Services }) =>
      Services.map(({ ServiceName, Tags }) => ({ name: ServiceName, namespace: Namespace, tags: Tags })),
    )
    .filter(({ name, tags }) => [name, ...tags].join(' ').toLowerCase().includes(text))
    .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.namespace < b.namespace ? -1 : 1));
}
