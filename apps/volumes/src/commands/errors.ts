import { errorText, formatErrors, NotHolderError, Refusal, type RefusalCode } from '@waybill/model';

/**
 * A step of a workflow failed; the message names the step (VL-108, VL-119, VL-133). Its code is that of the refusal
 * that caused it, otherwise `internal`.
 */
export class VolumeStepError extends Refusal {
  override readonly name: string = 'VolumeStepError';
  constructor(message: string, code: RefusalCode = 'internal') {
    super(code, message);
  }
}

/**
 * Makes a handler for `catch` that prefixes the error with the step that failed. It rethrows the end of the term
 * unchanged, so that the caller asks the next holder. @throws VolumeStepError, NotHolderError
 */
export const failing =
  (doing: string) =>
  (error: unknown): never => {
    if (error instanceof NotHolderError) throw error;
    throw new VolumeStepError(`${doing}${errorText(error)}`, codeBehind(error));
  };

/**
 * The code of the refusal behind an error. A machine that could not be reached does not refuse the whole request: the
 * request may be half done.
 */
export const codeBehind = (error: unknown): RefusalCode =>
  error instanceof Refusal && error.code !== 'unavailable' ? error.code : 'internal';

/** One error for all failures of a request with several parts; it has their code if they agree. */
export function joinedFailures(failures: readonly unknown[]): VolumeStepError {
  const codes = new Set(failures.map(codeBehind));
  const [code] = codes;
  return new VolumeStepError(formatErrors(failures.map(errorText)), codes.size === 1 ? code : 'internal');
}

/** The machine of an ended allocation came back with the allocation running while its claim was being released. */
export class AllocationRevivedError extends Refusal {
  override readonly name = 'AllocationRevivedError';
  constructor(allocId: string) {
    super('conflict', `allocation "${allocId}" runs again`);
  }
}
