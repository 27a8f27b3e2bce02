export type { RefusedNodes } from './allocations/alloc-client-update.js';
export { type RedactedText, withTexts } from './history/redacted-text.js';
export * from './log/catalogue.js';
export { isTaking, releaseClaim, withEndedClaims, withoutReleasesOfLive } from './volumes/csi-claims.js';
export { isUnusedPlugin, volumeWithEndedClaims, whyReleaseIsOutdated } from './volumes/csi-volumes.js';
export * from './machine/canonical-json.js';
export * from './machine/digest.js';
export * from './log/draft.js';
export * from './log/log-mark.js';
export type { EvalDeleteResult } from './evaluations/eval-delete.js';
export { isSafeToDelete } from './evaluations/eval-safety.js';
export * from './events.js';
export * from './fixtures.js';
export { hostVolumeUsers, usesHostVolume } from './volumes/host-volumes.js';
export { copyOfAllocation } from './machine/hot-rows.js';
export { deriveJobStatus } from './jobs/job-status.js';
export {
  activeRootKey,
  collectableRootKeys,
  isRootKeyInUse,
  ROOT_KEY_NOT_FOUND,
  rootKeysOf,
  signingKeyOf,
} from './keyring/root-keys.js';
export { childRegistration } from './jobs/child-registration.js';
export { DEFAULT_TRACKED_VERSIONS } from './jobs/job-versions.js';
export { NODE_EVENTS_KEPT } from './nodes/node-events.js';
export { NodeLoads } from './nodes/node-loads.js';
export * from './log/proposer.js';
export * from './machine/rehearsal.js';
export * from './log/request-window.js';
export * from './log/step-times.js';
export * from './machine/row-order.js';
export * from './archive/state-archive.js';
export { namesArchive, OWN_STATE } from './archive/state-restore.js';
export * from './machine/state-machine.js';
export { STORED_COLUMNS, unstorable } from './machine/storable-rows.js';
export { isOfOlderSpecification } from './allocations/batch-results.js';
export { stickyClaims } from './allocations/sticky-claims.js';
export * from './machine/table.js';
export * from './machine/tables.js';
export * from './log/txn.js';
export * from './machine/object-changes.js';
export { type Undo, undone } from './machine/undo.js';
export * from './machine/write.js';
export * from './log/written-form.js';
export * from './log/upcast.js';
export { NO_LOCK, NO_VARIABLE } from './variables/variables.js';
export {
  type VariableConflict,
  variableOutcome,
  type VariableOutcome,
  type WrittenVariable,
} from './variables/variable-outcome.js';
export * from './volumes/volume-registration.js';
export * from './machine/applier.js';
export * from './log/role.js';
