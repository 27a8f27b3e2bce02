import { AclCache } from '@waybill/acl';
import type { ProjectionFeed, ReadModel } from '@waybill/projection';
import type { ServiceContext } from '@waybill/service';
import type { AccessControl } from '../acl/access-control.js';
import { Callers, type CallerSource, everybody } from './callers.js';

/** What the callers of one process are found out from. */
export interface CallerParts {
  readonly context: Pick<ServiceContext, 'clock' | 'link'>;
  readonly model: Pick<ReadModel, 'access'>;
  readonly feed: Pick<ProjectionFeed, 'onChange'>;
}

/** Before the event log of the process follows the feed, so that a lost right is known before an event is sent (EV-47). */
export function callersOf(access: AccessControl, { context, model, feed }: CallerParts): CallerSource {
  if (!access.isOn) return everybody;
  const callers = new Callers({
    source: model.access,
    secrets: access.on.secrets,
    compiled: new AclCache(),
    clock: context.clock,
    hearsChanges: () => context.link.up,
  });
  feed.onChange(['acl_token', 'acl_policy', 'acl_roles'], () => callers.changed());
  return callers;
}
