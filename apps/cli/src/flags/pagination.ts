import type { Answer } from '../server/api-client.js';
import type { Call } from '../command-spec.js';
import { failed } from '../failure.js';
import { shellWord } from '../terminal/shell-word.js';

/** Flags of commands that list objects. */
export const LIST_FLAGS = [
  { name: 'filter', kind: 'text', value: 'expression', help: 'Only matching rows.' },
  { name: 'page-token', kind: 'text', value: 'token', help: 'Token of the page, as printed after the previous one.' },
  { name: 'per-page', kind: 'integer', value: 'n', help: 'Rows per page.' },
] as const;

/** Returns a hint how to get the next page: the typed command with another token (CL-174). */
export function paginationHint({ program, typed }: Pick<Call, 'program' | 'typed'>, nextToken: string): string {
  const words = typed.filter(
    (word, i) => !/^--?page-token(=|$)/.test(word) && !/^--?page-token$/.test(typed[i - 1] ?? ''),
  );
  return `\nResults have been paginated. To get the next page run:\n\n${[program, ...words, '-page-token', nextToken].map(shellWord).join(' ')}`;
}

/** A list that is printed page by page. */
export interface ListPage<Row> {
  readonly path: string;
  /** Name of the step in an error, such as `querying nodes`. */
  readonly doing: string;
  /** Text in place of an empty table. */
  readonly none: string;
  readonly tableOf: (rows: readonly Row[]) => string;
}

/** Prints one page of a list: as JSON, as a table with a hint to the next page, or the text for an empty list. */
export async function printPage<Row>(call: Call, { path, doing, none, tableOf }: ListPage<Row>): Promise<number> {
  const { api, flags, terminal } = call;
  const query = {
    filter: flags.text('filter'),
    per_page: flags.integer('per-page'),
    next_token: flags.text('page-token'),
  };
  const answer: Answer<Row[] | null> = await api.get<Row[] | null>(path, query).catch((error: unknown) => {
    throw failed(doing, error);
  });
  const rows = answer.value ?? [];
  if (call.data) call.data(answer.exact);
  else if (rows.length === 0) terminal.print(none);
  else {
    terminal.print(tableOf(rows));
    if (answer.nextToken !== '') terminal.print(paginationHint(call, answer.nextToken));
  }
  return 0;
}
