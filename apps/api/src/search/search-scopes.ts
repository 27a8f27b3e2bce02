import type { Requirement } from '@waybill/acl';
import { isRefusal } from '@waybill/model';
import type { Namespaces } from '@waybill/projection';
import type { RequestAccess } from '../access/request-access.js';
import { contextsOf, type SearchContext } from './search-contexts.js';

/** SearchScope is one kind of objects to search, as far as the caller may see them. */
export interface SearchScope {
  readonly context: SearchContext;
  /** The namespaces to search, for objects that have one. */
  readonly namespaces: Namespaces;
  /** Says whether a namespace or node pool of this name may be shown. */
  readonly shows: (name: string) => boolean;
  /** Says whether a variable may be shown. */
  readonly showsVariable: (namespace: string, path: string) => boolean;
}

const READ_JOB: Requirement = { kind: 'namespace', anyOf: ['read-job'] };

/** The requirement for searching each kind (OP section 8). Namespaces and node pools are decided by their names. */
const NEEDED: Record<SearchContext, Requirement> = {
  allocs: READ_JOB,
  deployment: READ_JOB,
  evals: READ_JOB,
  jobs: READ_JOB,
  scaling_policy: { kind: 'namespace', anyOf: ['read-job', 'list-scaling-policies'] },
  nodes: { kind: 'node', level: 'read' },
  node_pools: { kind: 'none' },
  namespaces: { kind: 'none' },
  volumes: { kind: 'namespace', anyOf: ['csi-list-volume', 'csi-read-volume', 'list-jobs', 'read-job'] },
  host_volumes: { kind: 'namespace', anyOf: ['host-volume-read'] },
  plugins: { kind: 'plugin', level: 'list' },
  vars: { kind: 'anyVariable', wildcard: true },
};

/**
 * Returns what a search covers. A context that is requested by name must be allowed; `all` covers those that are.
 * @throws Refusal invalid if there is no such context; forbidden
 */
export async function searchScopesOf(
  access: RequestAccess,
  context: string,
  namespaces: Namespaces,
): Promise<readonly SearchScope[]> {
  const contexts = contextsOf(context);
  const scopes: SearchScope[] = [];
  for (const one of contexts) {
    try {
      scopes.push(await scopeOf(access, one, namespaces));
    } catch (error) {
      if (contexts.length === 1 || !isRefusal(error, 'forbidden')) throw error;
    }
  }
  return scopes;
}

async function scopeOf(access: RequestAccess, context: SearchContext, namespaces: Namespaces): Promise<SearchScope> {
  const { acl } = access.caller;
  const needed = NEEDED[context];
  const shows = (name: string): boolean =>
    context === 'node_pools' ? acl.hasAccessToNodePool(name) : acl.hasAccessToNamespace(name);
  const showsVariable = (namespace: string, path: string): boolean =>
    access.has({ kind: 'variable', capability: 'list' }, { namespace, path });
  const shown = { context, shows, showsVariable };
  if (needed.kind === 'namespace') return { ...shown, namespaces: await access.namespacesFor(needed, namespaces) };
  if (needed.kind === 'anyVariable') {
    for (const namespace of namespaces === '*' ? ['*'] : namespaces) access.must(needed, { namespace });
    return { ...shown, namespaces };
  }
  access.must(needed);
  return { ...shown, namespaces };
}
