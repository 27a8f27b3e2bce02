import type { AllocatedResources, NetworkResource, Resources } from '../nodes/resources.js';

/** What a client sees of a domain object: ready for JSON. */
export type WireObject = Record<string, unknown>;

/**
 * The members of an omit-empty object that are not zero (API-17): left out are 0, "", false, null, undefined, empty
 * lists and empty maps. Does not descend.
 */
export function omitEmpty(members: object): WireObject {
  // Once per row of a list and per event: no list of pairs is made.
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

/** The map with each value encoded; null stays null. */
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
