import type { ACLTokenListStub } from '../../api/contract.js';

type Rights = Pick<ACLTokenListStub, 'Type' | 'Policies' | 'Roles'>;

/** Returns in words where the rights of a token come from. */
export function rightsInWords({ Type, Policies, Roles }: Rights): string {
  if (Type === 'management') return 'everything';
  const named = [...(Policies ?? []), ...(Roles ?? []).map(({ Name, ID }) => `role ${Name || ID}`)];
  return named.length === 0 ? 'what everybody may' : named.join(', ');
}

/** Returns the state of a token: whether it still counts. */
export const stateOfToken = ({ ExpirationTime }: Pick<ACLTokenListStub, 'ExpirationTime'>, nowMs: number): string =>
  ExpirationTime !== null && Date.parse(ExpirationTime) <= nowMs ? 'expired' : 'valid';

export interface TokenFilter {
  /** A text in the name, the accessor ID, or the name of a policy or role. */
  readonly search?: string;
  readonly kind?: string;
}

export function filteredTokens<T extends ACLTokenListStub>(all: readonly T[], filter: TokenFilter): readonly T[] {
  const { search = '', kind } = filter;
  const text = search.trim().toLowerCase();
  return all
    .filter(({ Type }) => kind === undefined || Type === kind)
    .filter((token) => `${token.Name} ${token.AccessorID} ${rightsInWords(token)}`.toLowerCase().includes(text))
    .toSorted((a, b) => (a.Name < b.Name ? -1 : a.Name > b.Name ? 1 : a.AccessorID < b.AccessorID ? -1 : 1));
}
