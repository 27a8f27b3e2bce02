/** What a request is refused with, in the contract's words. */
export class VolumeRefusedError extends Error {
  override readonly name = 'VolumeRefusedError';
}

/** Nobody else's machine may claim (VL-93). */
export class PermissionDeniedError extends Error {
  override readonly name = 'PermissionDeniedError';
  constructor() {
    super('Permission denied');
  }
}

/** This process does not hold the role (any more); agents ask again (VL-131). */
export class NotHolderError extends Error {
  override readonly name = 'NotHolderError';
  constructor() {
    super('No cluster leader');
  }
}

/** A step of a workflow failed; the text says which (VL-108, VL-119, VL-133). */
export class VolumeStepError extends Error {
  override readonly name = 'VolumeStepError';
}

/**
 * For `catch`: says first what was being done. The end of the term stays what it is: the next holder is asked instead.
 * @throws VolumeStepError, NotHolderError
 */
export const failing =
  (doing: string) =>
  (error: unknown): never => {
    if (error instanceof NotHolderError) throw error;
    throw new VolumeStepError(`${doing}${textOf(error)}`);
  };

/** While a claim was released because its allocation had ended, the allocation's machine came back with it running. */
export class AllocationRevivedError extends Error {
  override readonly name = 'AllocationRevivedError';
  constructor(allocId: string) {
    super(`allocation "${allocId}" runs again`);
  }
}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
