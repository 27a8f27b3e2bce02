import 'reflect-metadata';
import { RequestMethod, type Type } from '@nestjs/common';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { RESOURCES } from '../api.module.js';
import { UiModule } from '../ui/ui.module.js';
import { SUFFIXES } from '../jobs/job-path.js';
import { openApiDocument } from './document.js';
import { OPERATIONS } from './operations.js';

const METHODS: Record<number, string[]> = {
  [RequestMethod.GET]: ['get'],
  [RequestMethod.PUT]: ['put'],
  [RequestMethod.POST]: ['post'],
  [RequestMethod.DELETE]: ['delete'],
  [RequestMethod.ALL]: ['get', 'put', 'post', 'delete'],
};

/** A route as a pattern: `:name` is one part of a path, `*` all the rest. */
const patternOf = (route: string): RegExp => {
  const literal = route.replaceAll(/[.?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${literal.replaceAll(/:[^/]+/g, '[^/]+').replaceAll('*', '.+')}$`);
};

function meta<T>(key: string, of: object): T | undefined {
  return Reflect.getMetadata(key, of) as T | undefined;
}

/** Every route of every controller of every resource, as Nest will make them; pages for people are no resource. */
function routes(): string[] {
  const controllers = RESOURCES.filter((module) => module !== UiModule).flatMap(
    (module) => meta<Type[]>('controllers', module) ?? [],
  );
  return controllers.flatMap((controller) => {
    const prefix = [meta<string | string[]>('path', controller) ?? ''].flat();
    const prototype = controller.prototype as Record<string, object>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = Object.getOwnPropertyDescriptor(prototype, name)?.value as unknown;
      const paths = typeof handler === 'function' && meta<string | string[]>('path', handler);
      if (paths === false || paths === undefined) return [];
      const methods = METHODS[meta<number>('method', handler as object) ?? -1] ?? [];
      return [paths]
        .flat()
        .flatMap((path) =>
          methods.flatMap((method) =>
            prefix.map((p) => `${method} /${p}/${path}`.replaceAll(/\/+/g, '/').replace(/\/$/, '')),
          ),
        );
    });
  });
}

/** Routes for what nobody should ask: wrong methods that are answered with something else than 405 (API-3), parts of a path that are passed over. */
const ONLY_FOR_WRONG_METHODS =
  /^((put|post|delete) \/v1\/(operator\/(raft\/configuration|autopilot\/\w+)|agent\/keyring\/.*)|(get|put|post) \/v1\/operator\/raft\/peer|\w+ \/v1\/(operator\/(raft|keyring)|volume\/csi\/:id\/:other|volume\/host\/:(id|action))\/\*)$/;

describe('the description of the API', () => {
  const described = OPERATIONS.map(({ method, path }) => `${method} ${path}`);

  it('describes every route', () => {
    const missing = routes().filter((route) => {
      const pattern = patternOf(route);
      return !described.some((one) => pattern.test(one)) && !ONLY_FOR_WRONG_METHODS.test(route);
    });
    expect(missing).toEqual([]);
  });

  it('describes nothing that has no route', () => {
    const patterns = routes().map(patternOf);
    expect(described.filter((one) => !patterns.some((pattern) => pattern.test(one)))).toEqual([]);
  });

  it('describes every sub-route of a job', () => {
    const ofJobs = OPERATIONS.map(({ path }) => path).join('\n');
    for (const suffix of SUFFIXES.filter((one) => one !== 'action')) expect(ofJobs).toContain(`/${suffix}`);
  });

  it('is whole: every schema compiles, every reference leads somewhere', { timeout: 180_000 }, () => {
    const document = openApiDocument() as { components: { schemas: Record<string, object> } };
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'doc', ...document });
    for (const name of Object.keys(document.components.schemas))
      expect(() => ajv.compile({ $ref: `doc#/components/schemas/${name}` }), name).not.toThrow();
    const refs = JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g);
    for (const [, name] of refs) expect(document.components.schemas).toHaveProperty(name ?? '');
  });
});
