export * from './acl/acl-policy.js';
export * from './acl/acl-role.js';
export * from './acl/acl-token.js';
export * from './acl/auth-method.js';
export * from './acl/binding-rule.js';
export * from './acl/mapped-claims.js';
export * from './acl/one-time-token.js';
export * from './similar-objects.js';
export * from './evaluations/allocation.js';
export * from './evaluations/client-alloc-update.js';
export * from './time/clock.js';
export * from './constraints/index.js';
export * from './evaluations/core-evaluation.js';
export * from './time/cron.js';
export * from './volumes/csi-claim.js';
export * from './volumes/csi-plugin.js';
export * from './volumes/csi-volume.js';
export * from './volumes/csi-volume-shape.js';
export * from './evaluations/deployment-descriptions.js';
export * from './evaluations/deployment.js';
export * from './nodes/device-index.js';
export * from './time/duration.js';
export * from './encoding/encode-acl.js';
export * from './encoding/encode-auth-method.js';
export * from './encoding/encode-root-key.js';
export * from './encoding/encode-allocation.js';
export * from './encoding/encode-csi-plugin.js';
export * from './encoding/encode-csi-volume.js';
export * from './encoding/encode-deployment.js';
export * from './encoding/encode-evaluation.js';
export * from './encoding/encode-host-volume.js';
export * from './encoding/encode-job.js';
export * from './encoding/encode-node.js';
export * from './evaluations/evaluation-trace.js';
export * from './evaluations/evaluation.js';
export * from './volumes/expand-csi-volume.js';
export * from './time/fake-time.js';
export * from './filter/index.js';
export * from './nodes/fit.js';
export * from './volumes/host-volume.js';
export * from './volumes/host-volume-shape.js';
export * from './job-diff/index.js';
export * from './limits/acl-limits.js';
export * from './limits/bytes-within.js';
export * from './limits/auth-method-limits.js';
export * from './limits/name-limits.js';
export * from './limits/storage-limits.js';
export * from './limits/text-limits.js';
export * from './keyring/root-key.js';
export * from './jobs/job.js';
export * from './jobs/login-clusters.js';
export * from './jobs/multiregion.js';
export * from './namespaces/namespace.js';
export * from './namespaces/extra-claims.js';
export { namespaceLimitProblems } from './namespaces/namespace-limits.js';
export * from './nodes/network-index.js';
export * from './nodes/node-class.js';
export * from './nodes/node-introduction.js';
export * from './nodes/node-pool.js';
export * from './nodes/node.js';
export * from './time/pause.js';
export * from './jobs/periodic.js';
export * from './jobs/placement-rules.js';
export * from './evaluations/plan.js';
export * from './nodes/resources.js';
export * from './refusal.js';
export * from './jobs/scaling-event.js';
export * from './evaluations/scheduler-configuration.js';
export * from './jobs/service.js';
export * from './jobs/shared-blocks.js';
export * from './time/simulated-time.js';
export * from './evaluations/task-event.js';
export * from './jobs/task-group.js';
export * from './jobs/task.js';
export * from './jobs/service-identities.js';
export * from './jobs/task-identities.js';
export * from './time/stated-time.js';
export * from './time/system-timers.js';
export * from './time/renewal-wait.js';
export * from './time/timers.js';
export * from './time/wall-clock-timers.js';
export * from './time/witnessed-clock.js';
export * from './time/token-bucket.js';
export * from './time/shared-run.js';
export * from './time/slots.js';
export * from './time/turns.js';
export * from './volumes/update-csi-volume.js';
export * from './volumes/validate-csi-volume.js';
export * from './volumes/validate-host-volume.js';
export * from './limits/variable-limits.js';
export * from './variables/validate-variable.js';
export * from './variables/variable.js';
export * from './version.js';
export * from './jobs/volume.js';
export { encodeMap, omitEmpty, type WireObject } from './encoding/wire-object.js';
export type { SubmissionContext } from './canonical/canonicalise-job.js';
export * from './encoding/decode-error.js';
export * from './jobs/decode-job.js';
export * from './validation/message-list.js';
export {
  fileNameProblem,
  hasControlCharacters,
  isUnsafePath,
  jobIdErrors,
  lookalikeErrors,
  lookalikes,
  MAX_FILE_NAME_BYTES,
  metaErrors,
  taskNameErrors,
} from './validation/safe-name.js';
export * from './jobs/specification-change.js';
export {
  totalCountErrors,
  validateJob,
  type JobValidation,
  type ValidationOptions,
} from './validation/validate-job.js';
export { isDnsName } from './validation/validate-network.js';
export { isPropagationMode } from './validation/validate-volume.js';
/** Tables for the bodies of requests, with the same rules for names, types and null as a job's. */
export * as wire from './encoding/wire-shape.js';
export * as wireSchema from './encoding/wire-schema.js';
export { jobShape } from './jobs/job-shape.js';
export { SHORTEST_RENEWED_TTL_NS } from './validation/validate-identity.js';
