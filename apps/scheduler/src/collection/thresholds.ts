import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, ROOT_KEY_COLLECTION_NS, ROOT_KEY_ROTATION_NS } from '@waybill/model';

/** Ages at which records may be collected, ns (section 2 of the reference of collection). 0: any age. */
export interface Thresholds {
  readonly evaluationNs: number;
  /** Age of evaluations of type `batch`, and of their allocations. */
  readonly batchEvaluationNs: number;
  readonly jobNs: number;
  readonly deploymentNs: number;
  readonly nodeNs: number;
  readonly volumeClaimNs: number;
  readonly pluginNs: number;
  /** Age of tokens, since their creation. */
  readonly tokenNs: number;
  /** Age of root keys since their creation: the time until their rotation, and how long they stay then (GC-80). */
  readonly rootKeyNs: number;
}

export const DEFAULT_THRESHOLDS: Thresholds = {
  evaluationNs: NS_PER_HOUR,
  batchEvaluationNs: 24 * NS_PER_HOUR,
  jobNs: 4 * NS_PER_HOUR,
  deploymentNs: NS_PER_HOUR,
  nodeNs: 24 * NS_PER_HOUR,
  volumeClaimNs: 5 * NS_PER_MINUTE,
  pluginNs: NS_PER_HOUR,
  tokenNs: NS_PER_HOUR,
  rootKeyNs: ROOT_KEY_ROTATION_NS + ROOT_KEY_COLLECTION_NS,
};

/** Thresholds of a forced collection: everything that was over before it (GC-87, GC-89). Root keys keep theirs (GC-85). */
export const FORCED_THRESHOLDS: Omit<Thresholds, 'rootKeyNs'> = {
  evaluationNs: NS_PER_MS,
  batchEvaluationNs: NS_PER_MS,
  jobNs: NS_PER_MS,
  deploymentNs: NS_PER_MS,
  nodeNs: NS_PER_MS,
  volumeClaimNs: NS_PER_MS,
  pluginNs: NS_PER_MS,
  tokenNs: NS_PER_MS,
};
