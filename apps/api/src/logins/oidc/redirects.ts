/** The hosts of programs on the caller's own machine, which use any free port (AU-99). */
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Says whether a method lets a provider redirect to this address. If none is listed, it may redirect to any (AU-99).
 */
export function isAllowedRedirect(redirect: string, allowed: readonly string[] | null): boolean {
  if (allowed === null || allowed.length === 0) return true;
  return allowed.some((one) => one === redirect || isSameButPort(one, redirect));
}

function isSameButPort(one: string, other: string): boolean {
  if (!URL.canParse(one) || !URL.canParse(other)) return false;
  const [a, b] = [new URL(one), new URL(other)];
  if (!LOOPBACK.has(a.hostname)) return false;
  a.port = '';
  b.port = '';
  return a.href === b.href;
}
