import { errorText, formatErrors, NotHolderError, Refusal, type RefusalCode } from '@waybill/model';

/**
 * A step of a workflow failed; the text says which (VL-108, VL-119, VL-133). Its code is that of the refusal behind it,
 * otherwise `internal`.
 */
export class VolumeStepError extends Refusal {
  override readonly name: string = 'VolumeStepError';
  constructor(message: string, code: RefusalCode = 'internal') {
    super(code, message);
  }
}

/**
 * For `catch`: says first what was being done. The end of the term stays what it is: the next holder is asked instead.
 * @throws VolumeStepError, NotHolderError
 */
export const failing =
  (doing: string) =>
  (error: unknown): never => {
    if (error instanceof NotHolderError) throw error;
    throw new VolumeStepError(`${doing}${errorText(error)}`, codeBehind(error));
  };

/** A step that a machine could not be asked for is no refusal to carry out the whole: it may be half done. */
export const codeBehind = (error: unknown): RefusalCode =>
  error instanceof Refusal && error.code !== 'unavailable' ? error.code : 'internal';

/** All failures of a request with several parts, as one; its code is theirs, if they agree. */
export function joinedFailures(failures: readonly unknown[]): VolumeStepError {
  const codes = new Set(failures.map(codeBehind));
  const [code] = codes;
  return new VolumeStepError(formatErrors(failures.map(errorText)), codes.size === 1 ? code : 'internal');
}

/** While a claim was released because its allocation had ended, the allocation's machine came back with it running. */
export class AllocationRevivedError extends Refusal {
  override readonly name = 'AllocationRevivedError';
  constructor(allocId: string) {
    super('conflict', `allocation "${allocId}" runs again`);
  }
}
