export * from './errors.js';
export type { Delivery, FollowOptions, Follower, Log, Published, PublishOptions } from './log.js';
export {
  deploymentSubject,
  jobSubject,
  leaseSubject,
  nodeSubject,
  subjectOf,
  subjectToken,
  TXN_STREAM,
} from './subject.js';
