import { AclCache } from '@waybill/acl';
import type { Keyring } from '@waybill/keyring';
import type { Allocation, Clock } from '@waybill/model';
import type { ProjectionFeed, ReadModel } from '@waybill/projection';
import type { ServiceContext } from '@waybill/service';
import type { AccessControl } from '../acl/access-control.js';
import { AwaitedReads } from './awaited-reads.js';
import { Callers, type CallerSource, everybody } from './callers.js';
import type { WorkloadSource } from './workload-callers.js';

/** What the callers of one process are found out from. */
export interface CallerParts {
  readonly context: Pick<ServiceContext, 'clock' | 'link'>;
  readonly model: Pick<ReadModel, 'access' | 'tableIndex'>;
  readonly workloads: WorkloadSource;
  readonly feed: Pick<ProjectionFeed, 'onChange'>;
}

/** What identities of workloads are checked with. */
export interface WorkloadParts {
  readonly clock: Clock;
  readonly model: {
    readonly access: Pick<ReadModel['access'], 'policiesOfWorkload'>;
    allocation(id: string): Promise<{ readonly row?: Allocation | undefined }>;
  };
  readonly keyring: Pick<Keyring, 'verifyJwt'>;
  readonly feed: Pick<ProjectionFeed, 'watch'>;
}

/** How old an identity may be whose allocation is waited for, ms: an older one that is not found was collected. */
const NEW_IDENTITY_MS = 60_000;
/** Requests of new allocations that wait at a time in one process: a signature was checked, so the allocation existed. */
const MAX_AWAITING_ALLOCATIONS = 500;

const RIGHTS = ['acl_token', 'acl_policy', 'acl_roles'] as const;

/** What the caller of an identity is found out from. */
export function workloadsOf({ clock, model, keyring, feed }: WorkloadParts): WorkloadSource {
  const awaited = new AwaitedReads({ feed, clock, most: MAX_AWAITING_ALLOCATIONS });
  const stored = async (id: string): Promise<Allocation | undefined> => (await model.allocation(id)).row;
  return {
    verifyJwt: (token) => keyring.verifyJwt(token),
    allocation: (id, issuedAtMs) =>
      clock.nowMs() - issuedAtMs < NEW_IDENTITY_MS ? awaited.of([['allocs', id]], () => stored(id)) : stored(id),
    policiesOfWorkload: (workload) => model.access.policiesOfWorkload(workload),
  };
}

/** Before the event log of the process follows the feed, so that a lost right is known before an event is sent (EV-47). */
export function callersOf(access: AccessControl, { context, model, feed, workloads }: CallerParts): CallerSource {
  if (!access.isOn) return everybody;
  const callers = new Callers({
    source: {
      grantsBySecretHash: (hash) => model.access.grantsBySecretHash(hash),
      policiesNamed: (names) => model.access.policiesNamed(names),
      changeIndex: () => model.tableIndex(...RIGHTS),
    },
    secrets: access.on.secrets,
    workloads,
    compiled: new AclCache(),
    clock: context.clock,
    hearsChanges: () => context.link.up,
  });
  feed.onChange(RIGHTS, () => callers.changed());
  return callers;
}
