/** What one artifact may cost its machine. */
export interface ArtifactLimits {
  /** Bytes that are fetched, and bytes that are unpacked. */
  readonly bytes: number;
  /** Entries of one archive. */
  readonly entries: number;
  /** From the first request to the last byte. */
  readonly timeoutMs: number;
}

export const ARTIFACT_LIMITS: ArtifactLimits = { bytes: 100 * 1024 ** 3, entries: 4_096, timeoutMs: 30 * 60_000 };

/** An artifact is larger than its machine wants to hold. */
export class ArtifactLimitError extends Error {
  override readonly name = 'ArtifactLimitError';
}
