import type { AllocatedResources, NetworkResource, Resources } from '../nodes/resources.js';

/** The client's form of a domain object, ready for JSON. */
export type WireObject = Record<string, unknown>;

/**
 * Returns the members of an omit-empty object that are not zero (API-17). 0, "", false, null, undefined, empty lists
 * and empty maps are left out. Nested objects are not examined.
 */
export function omitEmpty(members: object): WireObject {
  // Runs once per row of a list and per event, so it creates no list of pairs.
  const kept: WireObject = {};
  const given = members as WireObject;
  for (const name in given) {
    const value = given[name];
    if (!isZero(value)) kept[name] = value;
  }
  return kept;
}

function isZero(value: unknown): boolean {
  if (value === null || value === undefined || value === 0 || value === '' || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && isEmpty(value);
}

function isEmpty(value: object): boolean {
  for (const name in value) if (Object.hasOwn(value, name)) return false;
  return true;
}

/** Returns the map with each value encoded. Null stays null. */
export function encodeMap<V>(map: Record<string, V> | null, encode: (value: V) => unknown): WireObject | null {
  if (map === null) return null;
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, encode(value)]));
}

export function encodeNetworks(networks: NetworkResource[] | null): WireObject[] | null {
  return networks === null ? null : networks.map(encodeNetwork);
}

function encodeNetwork(network: NetworkResource): WireObject {
  return omitEmpty({
    ...network,
    ReservedPorts: network.ReservedPorts?.map(omitEmpty),
    DynamicPorts: network.DynamicPorts?.map(omitEmpty),
  });
}

export function encodeResources(resources: Resources): WireObject {
  return { ...resources, Networks: encodeNetworks(resources.Networks) };
}

export function encodeAllocatedResources(resources: AllocatedResources): WireObject {
  return {
    ...resources,
    Tasks: encodeMap(resources.Tasks, (task) => ({ ...task, Networks: encodeNetworks(task.Networks) })),
    Shared: {
      ...resources.Shared,
      Networks: encodeNetworks(resources.Shared.Networks),
      Ports: resources.Shared.Ports?.map(omitEmpty) ?? null,
    },
  };
}
