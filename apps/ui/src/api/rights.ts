import { useQuery } from '@tanstack/react-query';
import { NEEDED_ROUTES, type NeededRoute } from './needed-routes.js';
import { rightsQuery } from './queries.js';

/** Needed is what the caller must be allowed to do, and where. */
export interface Needed {
  readonly route: NeededRoute;
  /** The namespace of the object; `*` for at least one, which is the default. */
  readonly namespace?: string | undefined;
  /** The path of the variable. */
  readonly path?: string | undefined;
}

/**
 * Says whether the caller may do something. The result is undefined until the server has answered, and true if it
 * cannot be asked: the server refuses the request itself then.
 */
export function useMay({ route, namespace = '*', path }: Needed): boolean | undefined {
  const rights = useQuery(rightsQuery(namespace, path));
  return rights.isError || rights.data?.Routes.includes(NEEDED_ROUTES[route]);
}

/** Says whether the caller has a capability in a namespace, with the same answers as `useMay`. */
export function useHas(capability: string, namespace: string): boolean | undefined {
  const rights = useQuery(rightsQuery(namespace));
  return rights.isError || rights.data?.Capabilities.includes(capability);
}
