/** The secret of the caller's token, kept for this tab alone and never in an address. */
const KEY = 'waybill.token';

const listeners = new Set<() => void>();

export const currentToken = (): string => sessionStorage.getItem(KEY) ?? '';

/** @param secret empty: nobody is signed in */
export function setToken(secret: string): void {
  if (secret === '') sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, secret);
  for (const tell of listeners) tell();
}

/** @returns how to stop listening */
export function onTokenChange(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}
