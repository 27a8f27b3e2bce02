import type { ServiceRegistration } from '@waybill/model';

/** NamespaceServices are the services of one namespace, each once. */
export interface NamespaceServices {
  readonly Namespace: string;
  readonly Services: { readonly ServiceName: string; readonly Tags: readonly string[] }[];
}

/** Returns the names of services with the tags of all their registrations, sorted by name. O(n log n). */
export function serviceNames(registrations: readonly ServiceRegistration[]): NamespaceServices[] {
  const namespaces = new Map<string, Map<string, Set<string>>>();
  for (const { Namespace, ServiceName, Tags } of registrations) {
    const services = namespaces.get(Namespace) ?? new Map<string, Set<string>>();
    namespaces.set(Namespace, services);
    const tags = services.get(ServiceName) ?? new Set<string>();
    services.set(ServiceName, tags);
    for (const tag of Tags ?? []) tags.add(tag);
  }
  return byKey(namespaces).map(([Namespace, services]) => ({
    Namespace,
    Services: byKey(services).map(([ServiceName, tags]) => ({ ServiceName, Tags: [...tags].toSorted() })),
  }));
}

const byKey = <V>(map: ReadonlyMap<string, V>): [string, V][] =>
  [...map].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
