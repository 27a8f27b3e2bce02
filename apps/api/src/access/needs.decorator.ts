import { RouteConfig } from '@nestjs/platform-fastify';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import type { RouteNeeds } from './needs.js';

/**
 * Needs declares what a route needs, beside its path. A route without it keeps the API from starting (`guardRoutes`).
 */
export const Needs = (needs: RouteNeeds): MethodDecorator => RouteConfig({ needs });

/** Returns what a handler declares. The result is undefined if it declares nothing. */
export const needsOf = (handler: object): RouteNeeds | undefined =>
  (Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as { needs?: RouteNeeds } | undefined)?.needs;
