/** Something that must hold and does not: what ends a run. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
  constructor(
    /** Which of the list in docs/simulation.md. */
    readonly invariant: string,
    readonly details: string,
  ) {
    super(`${invariant}: ${details}`);
  }
}

/** Called by a check that has found one; the run ends there. */
export type Report = (invariant: string, details: string) => void;
