/** Route is a route of the API with its need, as `/v1/waybill/routes` returns it. */
export interface Route {
  readonly Method: string;
  /** The path: `:name` is one part, `*` is the rest. */
  readonly Path: string;
  /** The value of the last part of the path. It is `''` if the path alone decides. */
  readonly Part: string;
  /** The need in words. */
  readonly Needs: string;
}

/**
 * Returns what a refused request needed, in the API's own words. The result is undefined if no route is known for it.
 */
export function missingRight(routes: readonly Route[], method: string, address: string): string | undefined {
  const path = address.split('?', 1)[0] ?? '';
  const last = path.slice(path.lastIndexOf('/') + 1);
  const fitting = routes.filter((route) => route.Method === method && fits(route.Path, path));
  const chosen =
    fitting.find(({ Part }) => Part !== '' && (Part === last || path.includes(`/${Part}/`))) ??
    fitting.find(({ Part }) => Part === '');
  return chosen?.Needs;
}

function fits(route: string, path: string): boolean {
  const wanted = route.split('/');
  const given = path.split('/');
  const isOpen = wanted.at(-1) === '*';
  if (isOpen) wanted.pop();
  if (isOpen ? given.length <= wanted.length : given.length !== wanted.length) return false;
  return wanted.every((part, at) => part.startsWith(':') || part === given[at]);
}
