import { eventTopicRequirement, type Requirement, satisfies } from '@waybill/acl';
import type { EventAbout } from '@waybill/projection';
import type { Caller } from '../access/caller.js';
import { forbidden } from '../http/api-error.js';
import type { Topics } from './event-filter.js';

/**
 * Refuses a subscription if one topic is not allowed in one of its namespaces (EV-40, EV-41). For `*` every existing
 * namespace must allow it (EV-42).
 * @throws Refusal forbidden
 */
export function checkTopics({ acl }: Caller, topics: Topics, namespaces: readonly string[]): void {
  if (acl.isManagement()) return;
  for (const topic of topics.keys()) {
    const needed = eventTopicRequirement(topic);
    const isAllowed = namespaces.every((namespace) => satisfies(acl, needed, { namespace }));
    if (!isAllowed || namespaces.length === 0) throw forbidden('Permission denied');
  }
}

/**
 * Checks a subscription to the events that the caller may see (EV-49): one topic in one namespace is enough, and each event is
 * checked by itself.
 * @returns the topics whose events without a namespace the caller may see
 * @throws Refusal forbidden if the caller may see no topic anywhere
 */
export function visibleTopics({ acl }: Caller, topics: Topics, namespaces: readonly string[]): ReadonlySet<string> {
  const isAllowedIn = (topic: string, namespace: string): boolean =>
    acl.isManagement() || satisfies(acl, eventTopicRequirement(topic), { namespace });
  const requested = [...topics.keys()];
  if (!requested.some((topic) => namespaces.some((namespace) => isAllowedIn(topic, namespace))))
    throw forbidden('Permission denied');
  return new Set(requested.filter((topic) => namespaces.every((namespace) => isAllowedIn(topic, namespace))));
}

/**
 * Says whether the caller may see an event of such a subscription (EV-49).
 * @param everywhere the result of `visibleTopics`
 */
export const maySeePart = (caller: Caller, event: EventAbout, everywhere: ReadonlySet<string>): boolean =>
  event.namespace === '' ? everywhere.has(event.topic) || everywhere.has('*') : maySee(caller, event);

/**
 * Says whether the caller may see an event of an allowed subscription. The namespaces of a `*` subscription come and go
 * (EV-44), and each variable has rights of its own (EV-43). Events without a namespace need no further check.
 */
export function maySee({ acl }: Caller, { topic, namespace, keys }: EventAbout): boolean {
  if (acl.isManagement() || namespace === '') return true;
  if (topic === 'Variable') return satisfies(acl, LISTED_VARIABLE, { namespace, path: keys[0] });
  return satisfies(acl, eventTopicRequirement(topic), { namespace });
}

const LISTED_VARIABLE: Requirement = { kind: 'variable', capability: 'list' };

/** Returns the namespaces whose rights decide about a subscription. */
export const subscribedNamespaces = (namespace: string, existing: readonly string[]): readonly string[] =>
  namespace === '*' ? existing : [namespace];
