import { formatErrors } from '@waybill/model';

/** Problems behind a prefix of their own: a single one stands as it is, several as a list (AU-12). */
export const listedProblems = (problems: readonly string[]): string =>
  problems.length === 1 ? problems.join('') : formatErrors(problems);
