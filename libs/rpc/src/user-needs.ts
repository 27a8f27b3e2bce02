import type { NamespaceCapability, Requirement, RequirementContext } from '@waybill/acl';
import type { Tables } from '@waybill/state';
import type { NeededRight, UserNeeds } from './authority.js';

// The rights that users need at the process that answers, as calls declare them (OP-172).

/** One right, whatever the request says. By default it is about no namespace and no name. */
export const needs =
  (requirement: Requirement, about: RequirementContext = {}) =>
  (): readonly NeededRight[] => [{ requirement, about }];

export const needsNodeRead = needs({ kind: 'node', level: 'read' });
export const needsNodeWrite = needs({ kind: 'node', level: 'write' });
export const needsManagement = needs({ kind: 'management' });

const PLUGIN_READ: NeededRight = { requirement: { kind: 'plugin', level: 'read' }, about: {} };

/** Any of the capabilities in each of the namespaces. */
export const anyIn = (namespaces: readonly string[], anyOf: readonly NamespaceCapability[]): readonly NeededRight[] => {
  const requirement: Requirement = { kind: 'namespace', anyOf };
  return [...new Set(namespaces)].map((namespace) => ({ requirement, about: { namespace } }));
};

/** Any of the capabilities in the namespace that the request names. */
export const needsInNamespace =
  (...anyOf: NamespaceCapability[]) =>
  ({ Namespace }: { readonly Namespace: string }): readonly NeededRight[] =>
    anyIn([Namespace], anyOf);

/** Any of the capabilities in some namespace: the request names none. */
export const needsSomewhere = (...anyOf: NamespaceCapability[]) =>
  needs({ kind: 'namespace', anyOf, wildcard: true }, { namespace: '*' });

/** The right to read plugins, and the others. */
export const andPluginRead =
  <Req>(others: (request: Req) => readonly NeededRight[]): UserNeeds<Req> =>
  (request) => [...others(request), PLUGIN_READ];

/** Any of the capabilities in the namespace of the deployment. */
export const needsOfDeployment =
  (...anyOf: NamespaceCapability[]): UserNeeds<{ readonly DeploymentID: string }> =>
  ({ DeploymentID }, { deployment }) =>
    inNamespaceOf(deployment.get(DeploymentID), anyOf);

/** Any of the capabilities in the namespace of the allocation. */
export const needsOfAlloc =
  (...anyOf: NamespaceCapability[]): UserNeeds<{ readonly AllocID: string }> =>
  ({ AllocID }, { allocs }) =>
    inNamespaceOf(allocs.get(AllocID), anyOf);

/** Any of the capabilities in the namespace of the allocation, or the right to write nodes if the request names none. */
export const needsOfAllocOrNode =
  (...anyOf: NamespaceCapability[]): UserNeeds<{ readonly AllocID: string }> =>
  (request, tables) =>
    request.AllocID === '' ? needsNodeWrite() : needsOfAlloc(...anyOf)(request, tables);

const inNamespaceOf = (
  row: { readonly Namespace: string } | undefined,
  anyOf: readonly NamespaceCapability[],
): readonly NeededRight[] => (row ? anyIn([row.Namespace], anyOf) : []);

/**
 * Whether the machine may read the disk of the allocation: it has an allocation that replaces it and takes its disk
 * (AG-224).
 */
export function replacesAllocOf({ AllocID }: { readonly AllocID: string }, tables: Tables, nodeId: string): boolean {
  for (const alloc of tables.allocs.by('node', nodeId)) if (alloc.PreviousAllocation === AllocID) return true;
  return false;
}
