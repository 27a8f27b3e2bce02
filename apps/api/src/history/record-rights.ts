import type { Requirement } from '@waybill/acl';
import type { ObjectKind } from '@waybill/state';
import type { RequestAccess } from '../access/request-access.js';
import type { Namespaces } from '@waybill/projection';

/** What reading the history of an object of each kind needs; kinds that are not here need management (API-267). */
const NEEDED: Partial<Record<ObjectKind, Requirement>> = {
  job: { kind: 'namespace', anyOf: ['read-job'] },
  alloc: { kind: 'namespace', anyOf: ['read-job'] },
  eval: { kind: 'namespace', anyOf: ['read-job'] },
  deployment: { kind: 'namespace', anyOf: ['read-job'] },
  volume: { kind: 'namespace', anyOf: ['csi-read-volume'] },
  'host-volume': { kind: 'namespace', anyOf: ['host-volume-read'] },
  node: { kind: 'node', level: 'read' },
  plugin: { kind: 'plugin', level: 'read' },
  'node-pool': { kind: 'nodePool', capability: 'read' },
  // The history has no items.
  var: { kind: 'variable', capability: 'list' },
};
const MANAGEMENT: Requirement = { kind: 'management' };

const neededFor = (kind: ObjectKind): Requirement => NEEDED[kind] ?? MANAGEMENT;

/**
 * The namespaces in which a caller may read the history of a kind; those that were asked for, where the kind has none.
 * @throws Refusal forbidden
 */
export async function readableNamespaces(
  access: RequestAccess,
  kind: ObjectKind | undefined,
  wanted: Namespaces,
): Promise<Namespaces> {
  const needed = kind === undefined ? MANAGEMENT : neededFor(kind);
  if (needed.kind === 'namespace') return access.namespacesFor(needed, wanted);
  if (needed.kind === 'management' && kind !== 'namespace') access.must(needed);
  if (needed.kind === 'node' || needed.kind === 'plugin') access.must(needed);
  return wanted;
}

/** Whether the caller may read the history of this object. */
export function mayReadObject(access: RequestAccess, kind: ObjectKind, namespace: string, id: string): boolean {
  if (kind === 'namespace') return access.caller.acl.hasAccessToNamespace(id);
  return access.has(neededFor(kind), { namespace, pool: id, path: id });
}

/**
 * Whether a caller may be told which objects of a kind begin with a text. Not of variables: their rights belong to whole
 * paths, so that the answer would name some that the caller may not list.
 */
export const mayMatchPrefix = (access: RequestAccess, kind: ObjectKind): boolean =>
  kind !== 'var' || access.caller.acl.isManagement();

/** Refuses what is asked of a variable that the caller may not list, or of variables in general. @throws Refusal forbidden */
export function checkVariable(access: RequestAccess, namespaces: Namespaces, path: string | undefined): void {
  if (access.caller.acl.isManagement()) return;
  if (path === undefined || namespaces === '*') return access.must(MANAGEMENT);
  for (const namespace of namespaces) access.must(neededFor('var'), { namespace, path });
}
