import type { Answer } from '../server/api-client.js';
import type { Call } from '../command-spec.js';
import { msOf, absoluteTime } from '../terminal/times.js';
import { keyValues, table } from '../terminal/table.js';

/** A token in a list of the API. */
export interface TokenStub {
  readonly AccessorID: string;
  readonly Name: string;
  readonly Type: string;
  readonly Policies: readonly string[] | null;
  readonly Roles: readonly { readonly ID: string; readonly Name: string }[] | null;
  readonly Global: boolean;
  readonly CreateTime: string | null;
  readonly ExpirationTime: string | null;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

export interface Token extends TokenStub {
  readonly SecretID: string;
}

/** Prints a token with its secret, as text or as data (CL-841). */
export function printToken({ data, terminal }: Pick<Call, 'data' | 'terminal'>, answer: Answer<Token>): void {
  if (data) {
    data(answer.exact);
    return;
  }
  const { value: token } = answer;
  terminal.print(tokenList(token));
  if (token.Type === 'management') return;
  terminal.section('Roles');
  terminal.print(roleLinks(token));
}

/** Lists the members of a token. The roles of a client token have a table of their own (CL-841). */
export function tokenList(token: Token): string {
  const { Policies } = token;
  const granted: [string, string][] =
    token.Type === 'management'
      ? [
          ['Policies', 'n/a'],
          ['Roles', 'n/a'],
        ]
      : [['Policies', `[${(Policies ?? []).join(' ')}]`]];
  return keyValues([
    ['Accessor ID', token.AccessorID],
    ['Secret ID', token.SecretID],
    ['Name', token.Name],
    ['Type', token.Type],
    ['Global', String(token.Global)],
    ['Create Time', absoluteTime(token.CreateTime)],
    ['Expiry Time', absoluteTime(token.ExpirationTime)],
    ['Create Index', String(token.CreateIndex)],
    ['Modify Index', String(token.ModifyIndex)],
    ...granted,
  ]);
}

/** Lists the roles of a token (CL-841). */
export function roleLinks({ Roles }: Pick<TokenStub, 'Roles'>): string {
  if (Roles === null || Roles.length === 0) return '<none>';
  return table([['ID', 'Name'], ...Roles.map(({ ID, Name }) => [ID, Name])]);
}

/** Lists tokens. A token has expired from its expiry time on (CL-841). */
export function tokenTable(tokens: readonly TokenStub[], nowMs: number): string {
  const isExpired = ({ ExpirationTime }: TokenStub) => (msOf(ExpirationTime) ?? Number.POSITIVE_INFINITY) <= nowMs;
  return table([
    ['Name', 'Type', 'Global', 'Accessor ID', 'Expired'],
    ...tokens.map((token) => [
      token.Name,
      token.Type,
      String(token.Global),
      token.AccessorID,
      String(isExpired(token)),
    ]),
  ]);
}
