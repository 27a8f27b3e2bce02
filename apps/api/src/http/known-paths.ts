import type { FastifyInstance } from 'fastify';
import { pathOf } from './path.js';

/**
 * Paths that exist, whatever the method: a wrong method on one of these is 405, on any other path 404 (API-2, API-3).
 * They are the paths of the routes, noted as these are registered. A look costs the number of routes; only requests
 * that found none look.
 */
export class KnownPaths {
  private readonly patterns = new Map<string, RegExp>();

  /** Before the first route is registered. */
  static of(fastify: FastifyInstance): KnownPaths {
    const paths = new KnownPaths();
    fastify.addHook('onRoute', ({ url }) => paths.add(url));
    return paths;
  }

  /** @param route as the router has it: `:name` is one part of a path, `*` any rest that is not empty */
  add(route: string): void {
    const literal = route.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
    const pattern = literal.replaceAll(/:[^/]+/g, '[^/]+').replaceAll('*', '.+');
    this.patterns.set(route, new RegExp(`^${pattern}$`));
  }

  /** @param url with or without a query */
  has(url: string): boolean {
    const path = pathOf(url);
    for (const pattern of this.patterns.values()) if (pattern.test(path)) return true;
    return false;
  }
}
