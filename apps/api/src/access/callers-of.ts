import { AclCache } from '@waybill/acl';
import type { Keyring } from '@waybill/keyring';
import type { Allocation, Clock } from '@waybill/model';
import type { ProjectionFeed, ReadModel } from '@waybill/projection';
import type { ServiceContext } from '@waybill/service';
import type { AccessControl } from '../acl/access-control.js';
import { AwaitedReads } from './awaited-reads.js';
import { Callers, type CallerSource, everybody } from './callers.js';
import type { WorkloadSource } from './workload-callers.js';

/** CallerParts are the parts from which `callersOf` makes the callers of a process. */
export interface CallerParts {
  readonly context: Pick<ServiceContext, 'clock' | 'link'>;
  readonly model: Pick<ReadModel, 'access' | 'tableIndex'>;
  readonly workloads: WorkloadSource;
  readonly feed: Pick<ProjectionFeed, 'onChange' | 'onChangeOf'>;
}

/** WorkloadParts are the parts with which identities of workloads are checked. */
export interface WorkloadParts {
  readonly clock: Clock;
  readonly model: {
    readonly access: Pick<ReadModel['access'], 'policiesOfWorkload'>;
    allocation(id: string): Promise<{ readonly row?: Allocation | undefined }>;
  };
  readonly keyring: Pick<Keyring, 'verifyJwt'>;
  readonly feed: Pick<ProjectionFeed, 'watch'>;
}

/**
 * The largest age in milliseconds of an identity for whose allocation a request waits. If the allocation of an older
 * identity is not found, it was collected.
 */
const NEW_IDENTITY_MS = 60_000;
/**
 * The largest number of requests of new allocations that wait in one process. Their signatures are valid, so the
 * allocations existed.
 */
const MAX_AWAITING_ALLOCATIONS = 500;

const RIGHTS = ['acl_token', 'acl_policy', 'acl_roles'] as const;

/** Returns the source from which the callers of identities are read. */
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

/**
 * Returns the source of callers. Call it before the event log of the process follows the feed, so that a lost right is
 * known before an event is sent (EV-47).
 */
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
    changes: feed,
  });
  feed.onChange(RIGHTS, () => callers.invalidateAll());
  return callers;
}
