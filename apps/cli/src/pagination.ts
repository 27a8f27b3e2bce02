import type { Call } from './command-spec.js';

/** How to get the next page: the command as typed, with another token (CL-174). */
export function paginationHint({ program, typed }: Pick<Call, 'program' | 'typed'>, nextToken: string): string {
  const words = typed.filter(
    (word, i) => !/^--?page-token(=|$)/.test(word) && !/^--?page-token$/.test(typed[i - 1] ?? ''),
  );
  return `\nResults have been paginated. To get the next page run:\n\n${[program, ...words].join(' ')} -page-token ${nextToken}`;
}
