import type { Job } from '../jobs/job.js';
import type { WorkloadIdentity } from '../jobs/shared-blocks.js';
import { identitiesOf } from '../jobs/task-identities.js';
import type { Namespace } from './namespace.js';

/** The members of a namespace that concern claims of identities. */
export type ClaimsOfNamespace = Pick<Namespace, 'RequiredExtraClaims' | 'OptionalExtraClaims'>;

/**
 * Returns the extra claims of an identity before variables are replaced: the required ones, and the optional ones that
 * the identity asks for (AU-126).
 */
export function extraClaimsOf(
  { ExtraClaims }: Pick<WorkloadIdentity, 'ExtraClaims'>,
  { RequiredExtraClaims, OptionalExtraClaims }: ClaimsOfNamespace,
): Record<string, string> {
  const wanted = new Set(ExtraClaims);
  const optional = Object.entries(OptionalExtraClaims ?? {}).filter(([name]) => wanted.has(name));
  return { ...Object.fromEntries(optional), ...RequiredExtraClaims };
}

/**
 * Returns the names of extra claims that identities of the job ask for and the namespace does not offer. They are left
 * out (AU-126).
 */
export function extraClaimWarnings({ TaskGroups }: Pick<Job, 'TaskGroups'>, namespace: ClaimsOfNamespace): string[] {
  const offered = { ...namespace.OptionalExtraClaims, ...namespace.RequiredExtraClaims };
  const identities = TaskGroups.flatMap(({ Tasks, Services }) => [
    ...Tasks.flatMap(identitiesOf),
    ...[...(Services ?? []), ...Tasks.flatMap((task) => task.Services ?? [])].flatMap(({ Identity }) => Identity ?? []),
  ]);
  return identities.flatMap(({ Name, ExtraClaims }) => {
    const unknown = (ExtraClaims ?? []).filter((name) => !Object.hasOwn(offered, name));
    return unknown.length === 0
      ? []
      : [`identity "${Name}" asks for extra claims the namespace does not offer: [${unknown.join(' ')}]`];
  });
}
