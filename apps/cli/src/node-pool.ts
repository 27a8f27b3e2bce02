import type { NodePool } from '@waybill/model';
import type { Answer } from './api-client.js';
import type { Call } from './command-spec.js';
import { CommandFailure, failed } from './failure.js';
import { paginationHint } from './pagination.js';
import { table } from './table.js';

/** Flags of everything that lists. */
export const LIST_FLAGS = [
  { name: 'filter', kind: 'text', value: 'expression', help: 'Only what matches.' },
  { name: 'page-token', kind: 'text', value: 'token', help: 'Where the page begins.' },
  { name: 'per-page', kind: 'integer', value: 'n', help: 'Rows per page.' },
] as const;

/** Node pools (CL-531). */
export const nodePoolTable = (pools: readonly NodePool[]): string =>
  table([['Name', 'Description'], ...pools.map(({ Name, Description }) => [Name, Description])]);

/** The pool with this name, or the only one whose name begins so (CL-157). @throws CommandFailure */
export async function resolveNodePool({ api }: Pick<Call, 'api'>, given: string): Promise<NodePool> {
  const { value } = await api.get<NodePool[] | null>('/v1/node/pools', { prefix: given }).catch((error: unknown) => {
    throw failed('retrieving node pool', error);
  });
  const pools = value ?? [];
  const found = pools.find(({ Name }) => Name === given) ?? pools[0];
  if (!found) throw new CommandFailure(`No node pool with prefix "${given}" found`);
  if (found.Name === given || pools.length === 1) return found;
  throw new CommandFailure(`Prefix matched multiple node pools\n\n${nodePoolTable(pools)}`);
}

/** One page of a list: as JSON, as a table with what leads to the next page, or the text for none. */
export async function printPage<Row>(
  call: Call,
  path: string,
  doing: string,
  none: string,
  tableOf: (rows: readonly Row[]) => string,
): Promise<number> {
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
