/** The key of the caller's token. The secret is kept only for this tab and never in an address. */
const KEY = 'waybill.token';

const listeners = new Set<() => void>();

export const currentToken = (): string => sessionStorage.getItem(KEY) ?? '';

/** @param secret the secret; empty if nobody is signed in */
export function setToken(secret: string): void {
  if (secret === '') sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, secret);
  for (const tell of listeners) tell();
}

/** @returns a function that stops listening */
export function onTokenChange(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}
