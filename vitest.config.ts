import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Tests run from source, so a unit test needs no build: what a workspace package exports from dist comes from its src.
// `npm test` has built everything just before: there the simulation loads the build.
const usesBuild = process.env['TEST_PACKAGES_BUILT'] === 'true';
const at = (p: string) => fileURLToPath(new URL(p, import.meta.url));
const alias = ['libs', 'apps'].flatMap((group) =>
  readdirSync(at(group)).flatMap((name) => {
    const { exports = {} } = JSON.parse(readFileSync(at(`${group}/${name}/package.json`), 'utf8')) as Manifest;
    return Object.entries(exports).map(([entry, { default: built }]) => ({
      find: new RegExp(`^@waybill/${name}${entry.slice(1)}$`),
      replacement: at(`${group}/${name}/${built.replace('/dist/', '/src/').replace(/js$/, 'ts')}`),
    }));
  }),
);

interface Manifest {
  /** `.`, or a part that can be had alone, such as `./clock`. */
  readonly exports?: Readonly<Record<string, { readonly default: string }>>;
}

export default defineConfig({
  resolve: { alias: usesBuild ? [] : alias },
  test: {
    server: { deps: { external: [/\/(libs|apps)\/[^/]+\/dist\//] } },
    projects: [
      // Pure code: no server, no process, under a minute in all.
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{libs,apps}/*/src/**/*.spec.ts', '{scripts,bench}/**/*.spec.ts'],
          testTimeout: 10_000,
          // What a real process or disk does comes soon, and on a busy machine later.
          expect: { poll: { timeout: 8_000, interval: 10 } },
          // The default leaves one core idle.
          maxWorkers: '100%',
          // One load of the modules per worker: no file leaves anything behind in them.
          isolate: false,
        },
      },
      // The control plane from seeds, in simulated time: no server, no process, but minutes of work for every core.
      {
        extends: true,
        test: {
          name: 'simulation',
          include: ['test/sim/**/*.test.ts'],
          testTimeout: 300_000,
          maxWorkers: '100%',
          // One load of the modules per worker: whoever switches a bug on switches it off again.
          isolate: false,
        },
      },
      // Real nats-server, real PostgreSQL, real processes. Two files at a time: three make the cores no less idle, and time limits tighter.
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/!(sim|support|kubernetes)/**/*.test.ts'],
          globalSetup: 'test/support/begun-databases.setup.ts',
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          // Of a file whose tests wait more than they work, and say so by `concurrent`.
          maxConcurrency: 2,
          isolate: false,
        },
      },
      // A real Kubernetes API server, which `npm run test:kubernetes` builds. Not part of `npm test`.
      {
        extends: true,
        test: {
          name: 'kubernetes',
          include: ['test/kubernetes/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 240_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
