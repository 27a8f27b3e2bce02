import { formatErrors } from '@waybill/model';

/** Formats problems behind a prefix: a single problem as it is, several as a list (AU-12). */
export const listedProblems = (problems: readonly string[]): string =>
  problems.length === 1 ? problems.join('') : formatErrors(problems);
