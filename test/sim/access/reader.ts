import { type Allocation, isClientTerminal } from '@waybill/model';
import type { AccessState } from './access-history.js';
import { meaningOf } from './policy-texts.js';
import { Rights } from './rights.js';

/** A workload that reads with its own identity. */
export interface ReadingWorkload {
  readonly allocId: string;
  readonly namespace: string;
  /** The parent, for a dispatched or periodic child (OP-137). */
  readonly jobId: string;
  readonly group: string;
  readonly task: string;
}

/** Somebody who reads, by what the API is told of them. */
export type Reader =
  | { readonly kind: 'anonymous' }
  /** With a secret that is nobody's. */
  | { readonly kind: 'stranger' }
  | { readonly kind: 'token'; readonly accessor: string }
  | { readonly kind: 'workload'; readonly workload: ReadingWorkload };

/** What a reader may see as long as their credential is good. Undefined: it is refused. */
export interface Standing {
  readonly rights: Rights;
  /** Names of the reader's policies, those included that do not exist. */
  readonly policies: readonly string[];
  /** IDs of the roles of their token. */
  readonly roles: readonly string[];
  /** The workload, which has paths of its own. */
  readonly workload?: ReadingWorkload;
}

/**
 * How a reader stands in a state of tokens, roles and policies. The expiry of a token is no part of it.
 * @param alloc of a workload, as it is now
 */
export function standingOf(reader: Reader, state: AccessState, alloc?: Allocation): Standing | undefined {
  switch (reader.kind) {
    case 'anonymous':
      return standingBy(state, ['anonymous']);
    case 'stranger':
      return undefined;
    case 'token': {
      const token = state.tokens.get(reader.accessor);
      if (!token) return undefined;
      const roles = (token.Roles ?? []).map(({ ID }) => ID);
      const ofRoles = roles.flatMap((id) => state.roles.get(id)?.Policies ?? []);
      return standingBy(state, [...(token.Policies ?? []), ...ofRoles.map(({ Name }) => Name)], roles);
    }
    case 'workload': {
      if (!alloc || isClientTerminal(alloc)) return undefined;
      const { workload } = reader;
      const names = [...state.policies.values()]
        .filter(({ JobACL }) => isFor(JobACL, workload))
        .map(({ Name }) => Name);
      return { ...standingBy(state, names), workload };
    }
  }
}

function standingBy(state: AccessState, names: readonly string[], roles: readonly string[] = []): Standing {
  const policies = [...new Set(names)].flatMap((name) => state.policies.get(name) ?? []);
  return { rights: new Rights(policies.map(({ Rules }) => meaningOf(Rules))), policies: names, roles };
}

type JobAcl = { readonly Namespace: string; readonly JobID: string; readonly Group: string; readonly Task: string };

/** OP-138: every member that is named must be the workload's. */
const isFor = (named: JobAcl | null, { namespace, jobId, group, task }: ReadingWorkload): boolean =>
  named !== null &&
  named.Namespace === namespace &&
  (named.JobID === '' || named.JobID === jobId) &&
  (named.Group === '' || named.Group === group) &&
  (named.Task === '' || named.Task === task);

/** OP-137: the paths that a workload may list and read without any policy. */
export const ownPaths = ({ jobId, group, task }: ReadingWorkload): readonly string[] => [
  'nomad/jobs',
  `nomad/jobs/${jobId}`,
  `nomad/jobs/${jobId}/${group}`,
  `nomad/jobs/${jobId}/${group}/${task}`,
];

/** Whether a variable may be listed or read. An exact rule of a policy comes before what a workload has anyway. */
export function seesVariable(
  { rights, workload }: Standing,
  grant: 'list' | 'read',
  namespace: string,
  path: string,
): boolean {
  const isOwn = workload?.namespace === namespace && ownPaths(workload).includes(path);
  return (isOwn && !rights.hasExactRule(namespace, path)) || rights.onVariable(grant, namespace, path);
}

/** In reports. */
export function nameOf(reader: Reader): string {
  if (reader.kind === 'token') return `token ${reader.accessor}`;
  return reader.kind === 'workload' ? `allocation ${reader.workload.allocId}` : reader.kind;
}
