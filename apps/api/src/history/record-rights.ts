import type { Requirement } from '@waybill/acl';
import type { ObjectKind } from '@waybill/state';
import type { RequestAccess } from '../access/request-access.js';
import type { Namespaces } from '@waybill/projection';

/**
 * The requirements for reading the history of an object by its kind. Kinds that are not listed require management
 * (API-267).
 */
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
  // The history does not contain the items.
  var: { kind: 'variable', capability: 'list' },
};
const MANAGEMENT: Requirement = { kind: 'management' };

const neededFor = (kind: ObjectKind): Requirement => NEEDED[kind] ?? MANAGEMENT;

/**
 * Returns the namespaces in which a caller may read the history of a kind. If the kind has no namespace, the result is
 * the requested namespaces.
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

/** Says whether the caller may read the history of this object. */
export function mayReadObject(access: RequestAccess, kind: ObjectKind, namespace: string, id: string): boolean {
  if (kind === 'namespace') return access.caller.acl.hasAccessToNamespace(id);
  return access.has(neededFor(kind), { namespace, pool: id, path: id });
}

/**
 * Says whether a caller may learn which objects of a kind begin with a text. For variables they may not: rights belong
 * to whole paths, so the answer would name some that the caller may not list.
 */
export const mayMatchPrefix = (access: RequestAccess, kind: ObjectKind): boolean =>
  kind !== 'var' || access.caller.acl.isManagement();

/**
 * Refuses a request about a variable that the caller may not list, or about variables in general. @throws Refusal
 * forbidden
 */
export function checkVariable(access: RequestAccess, namespaces: Namespaces, path: string | undefined): void {
  if (access.caller.acl.isManagement()) return;
  if (path === undefined || namespaces === '*') return access.must(MANAGEMENT);
  for (const namespace of namespaces) access.must(neededFor('var'), { namespace, path });
}
