import { AclCache } from '@waybill/acl';
import type { Keyring } from '@waybill/keyring';
import type { ProjectionFeed, ReadModel } from '@waybill/projection';
import type { ServiceContext } from '@waybill/service';
import type { AccessControl } from '../acl/access-control.js';
import { Callers, type CallerSource, everybody } from './callers.js';
import type { WorkloadSource } from './workload-callers.js';

/** What the callers of one process are found out from. */
export interface CallerParts {
  readonly context: Pick<ServiceContext, 'clock' | 'link'>;
  readonly model: Pick<ReadModel, 'access' | 'allocation' | 'tableIndex'>;
  readonly keyring: Pick<Keyring, 'verifyJwt'>;
  readonly feed: Pick<ProjectionFeed, 'onChange'>;
}

const RIGHTS = ['acl_token', 'acl_policy', 'acl_roles'] as const;

/** What the caller of an identity is found out from. */
export const workloadsOf = ({ model, keyring }: Pick<CallerParts, 'model' | 'keyring'>): WorkloadSource => ({
  verifyJwt: (token) => keyring.verifyJwt(token),
  allocation: async (id) => (await model.allocation(id)).row,
  policiesOfWorkload: (workload) => model.access.policiesOfWorkload(workload),
});

/** Before the event log of the process follows the feed, so that a lost right is known before an event is sent (EV-47). */
export function callersOf(access: AccessControl, { context, model, feed, keyring }: CallerParts): CallerSource {
  if (!access.isOn) return everybody;
  const callers = new Callers({
    source: {
      grantsBySecretHash: (hash) => model.access.grantsBySecretHash(hash),
      policiesNamed: (names) => model.access.policiesNamed(names),
      changeIndex: () => model.tableIndex(...RIGHTS),
    },
    secrets: access.on.secrets,
    workloads: workloadsOf({ model, keyring }),
    compiled: new AclCache(),
    clock: context.clock,
    hearsChanges: () => context.link.up,
  });
  feed.onChange(RIGHTS, () => callers.changed());
  return callers;
}
