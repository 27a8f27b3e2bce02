import type { FastifyInstance } from 'fastify';
import { pathOf } from './path.js';

/**
 * KnownPaths holds the paths that exist, whatever the method. A wrong method on one of these gives 405, any other path
 * 404 (API-2, API-3). The paths are those of the routes, noted as the routes are registered. A look-up costs the number
 * of routes; only requests without a route need one.
 */
export class KnownPaths {
  /** The parts between slashes. */
  private readonly routes = new Map<string, readonly string[]>();

  /** Begins to collect paths. Call it before the first route is registered. */
  static of(fastify: FastifyInstance): KnownPaths {
    const paths = new KnownPaths();
    fastify.addHook('onRoute', ({ url }) => paths.add(url));
    return paths;
  }

  /**
   * @param route the path as the router has it: `:name` is one part of a path, `*` at its end is any rest that is not
   * empty
   */
  add(route: string): void {
    this.routes.set(route, route.split('/'));
  }

  /** @param url the URL with or without a query */
  has(url: string): boolean {
    const parts = pathOf(url).split('/');
    for (const route of this.routes.values()) if (matchesRoute(route, parts)) return true;
    return false;
  }
}

function matchesRoute(route: readonly string[], parts: readonly string[]): boolean {
  const isOpen = route.at(-1) === '*';
  const fixed = isOpen ? route.slice(0, -1) : route;
  if (isOpen ? parts.slice(fixed.length).join('/') === '' : parts.length !== fixed.length) return false;
  return fixed.every((part, at) => (part.startsWith(':') ? parts[at] !== '' : parts[at] === part));
}
