import { eventTopicRequirement, NAMESPACE_CAPABILITIES, type RequirementContext } from '@waybill/acl';
import type { EventTopic } from '@waybill/state';
import type { GuardedRoute } from './guarded-routes.js';
import type { RequestAccess } from './request-access.js';

const TOPICS: readonly EventTopic[] = [
  'Job',
  'Evaluation',
  'Allocation',
  'Deployment',
  'Node',
  'NodePool',
  'Service',
  'CSIVolume',
  'CSIPlugin',
  'HostVolume',
  'Variable',
  'ACLToken',
  'ACLPolicy',
  'ACLRole',
  'ACLAuthMethod',
  'ACLBindingRule',
];

/** Rights is what a caller may request. */
export interface Rights {
  /**
   * The routes whose need the caller has: `PUT /v1/job/* revert`. Method and path are those of `/v1/waybill/routes`,
   * followed by the part if there is one.
   */
  readonly Routes: readonly string[];
  /** The capabilities that the caller has in the namespace, for what is checked behind a route, such as a terminal. */
  readonly Capabilities: readonly string[];
  /** The topics of the event stream to which the caller may subscribe in all namespaces. */
  readonly Topics: readonly string[];
}

/**
 * Returns the rights of a caller.
 * @param about the namespace, the path of the variable and the node pool that the requests would be about; for the
 *   namespace `*` the caller needs the right in one namespace
 */
export async function rightsOf(
  routes: readonly GuardedRoute[],
  access: Pick<RequestAccess, 'hasSomewhere' | 'hasEverywhere'>,
  about: RequirementContext,
): Promise<Rights> {
  const Routes: string[] = [];
  for (const { Method, Path, Part, Requirement } of routes)
    if (await access.hasSomewhere(Requirement, about)) Routes.push([Method, Path, Part].join(' ').trimEnd());
  const Capabilities: string[] = [];
  for (const capability of NAMESPACE_CAPABILITIES)
    if (await access.hasSomewhere({ kind: 'namespace', anyOf: [capability] }, about)) Capabilities.push(capability);
  const Topics: string[] = [];
  for (const topic of TOPICS) if (await access.hasEverywhere(eventTopicRequirement(topic))) Topics.push(topic);
  return { Routes, Capabilities, Topics };
}
