import type { Requirement } from './requirement.js';

const READ_JOB: Requirement = { kind: 'namespace', anyOf: ['read-job'] };

const TOPICS: Readonly<Record<string, Requirement>> = {
  Deployment: READ_JOB,
  Evaluation: READ_JOB,
  Allocation: READ_JOB,
  Job: READ_JOB,
  Service: READ_JOB,
  CSIPlugin: READ_JOB,
  HostVolume: { kind: 'namespace', anyOf: ['host-volume-read'] },
  CSIVolume: { kind: 'namespace', anyOf: ['csi-read-volume'] },
  Node: { kind: 'node', level: 'read' },
  Operator: { kind: 'operator', level: 'read' },
  Variable: { kind: 'anyVariable' },
};

/**
 * Returns what a topic of the event stream requires in every subscribed namespace (EV-40, EV-42). All other
 * subscriptions, `*` and unknown topics included, require a management token.
 */
export const eventTopicRequirement = (topic: string): Requirement =>
  (Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined) ?? { kind: 'management' };
