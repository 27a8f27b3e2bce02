/** ArtifactLimits limits the cost of one artifact for its machine. */
export interface ArtifactLimits {
  /** The largest number of downloaded bytes, and of unpacked bytes. */
  readonly bytes: number;
  /** The largest number of entries of one archive. */
  readonly entries: number;
  /** The time limit in milliseconds from the first request to the last byte. */
  readonly timeoutMs: number;
}

export const ARTIFACT_LIMITS: ArtifactLimits = { bytes: 100 * 1024 ** 3, entries: 4_096, timeoutMs: 30 * 60_000 };

/** ArtifactLimitError says that an artifact exceeds the limits. */
export class ArtifactLimitError extends Error {
  override readonly name = 'ArtifactLimitError';
}
