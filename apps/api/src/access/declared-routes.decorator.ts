import 'reflect-metadata';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, MODULE_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { type GuardedRoute, GuardedRoutes } from './guarded-routes.js';
import { needsOf } from './needs.decorator.js';

/**
 * Returns every route that modules declare, with its needs. It needs no server and serves the documentation and its
 * test.
 */
export function declaredRoutes(modules: readonly Type[]): readonly GuardedRoute[] {
  const routes = new GuardedRoutes();
  for (const module of modules) for (const controller of controllersOf(module)) addRoutes(routes, controller);
  return routes.all();
}

const controllersOf = (module: Type): readonly Type[] =>
  (Reflect.getMetadata(MODULE_METADATA.CONTROLLERS, module) as Type[] | undefined) ?? [];

function addRoutes(routes: GuardedRoutes, controller: Type): void {
  const prefixes = pathsOf(controller);
  for (const handler of handlersOf(controller)) {
    const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
    if (method === undefined) continue;
    for (const prefix of prefixes)
      for (const path of pathsOf(handler)) routes.add(RequestMethod[method], joined(prefix, path), needsOf(handler));
  }
}

function handlersOf({ prototype }: Type): object[] {
  const members = Object.getOwnPropertyNames(prototype).map((name) => (prototype as Record<string, unknown>)[name]);
  return members.filter((member) => typeof member === 'function');
}

const pathsOf = (target: object): string[] =>
  [(Reflect.getMetadata(PATH_METADATA, target) as string | string[] | undefined) ?? ''].flat();

const joined = (...parts: string[]): string =>
  `/${parts.flatMap((part) => part.split('/').filter((one) => one !== '')).join('/')}`;
