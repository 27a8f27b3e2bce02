import type { Job } from '../jobs/job.js';
import type { WorkloadIdentity } from '../jobs/shared-blocks.js';
import { identitiesOf } from '../jobs/task-identities.js';
import type { Namespace } from './namespace.js';

/** What a namespace gives identities. */
export type ClaimsOfNamespace = Pick<Namespace, 'RequiredExtraClaims' | 'OptionalExtraClaims'>;

/** The texts of the extra claims of an identity, before variables are replaced: the required ones, and of the optional ones those it asks for (AU-126). */
export function extraClaimsOf(
  { ExtraClaims }: Pick<WorkloadIdentity, 'ExtraClaims'>,
  { RequiredExtraClaims, OptionalExtraClaims }: ClaimsOfNamespace,
): Record<string, string> {
  const wanted = new Set(ExtraClaims);
  const optional = Object.entries(OptionalExtraClaims ?? {}).filter(([name]) => wanted.has(name));
  return { ...Object.fromEntries(optional), ...RequiredExtraClaims };
}

/** Names of extra claims that identities of the job ask for and the namespace does not offer: they are left out (AU-126). */
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
