/** Hosts of programs on the caller's own machine, whose port is whichever is free (AU-99). */
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a method lets a provider send somebody back to this address. None listed: to any (AU-99). */
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
