// Puts the services, the launcher and what brings in another machine, as `tsc -b` has built them, into few files: most of
// what a start costs is finding, opening and linking two thousand modules. libs/processes/src/program.ts takes the bundle
// while nothing was built since.
//
//   node scripts/bundle.mjs      does nothing where the bundle is the newest
import { readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isNewest } from '../libs/processes/dist/program.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = path.join(root, 'dist/bundle');
const SERVICES = ['agent', 'api', 'broker', 'deployments', 'nodes', 'projector', 'scheduler', 'volumes'];

/** Packages that open files of their own, are native, or must be there once for packages that stay outside. */
const OUTSIDE = [
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  '@lydell/node-pty',
  'dockerode',
  'pg',
  'pino',
  'reflect-metadata',
  'typeorm',
];
/** What Nest looks for and does without. */
const ABSENT = [
  '@fastify/static',
  '@fastify/view',
  '@nestjs/platform-socket.io',
  '@nestjs/websockets',
  '@nestjs/websockets/socket-module.js',
  'amqp-connection-manager',
  'amqplib',
  'class-transformer',
  'class-transformer/storage',
  'class-validator',
  'ioredis',
  'kafkajs',
  'mqtt',
  'nats',
];

/**
 * A module goes on finding the files beside it where it was compiled to, and a stack trace its source.
 *
 * @type {import('vite').Plugin}
 */
const ownModules = {
  name: 'own-modules',
  enforce: 'pre',
  load(id) {
    const file = path.relative(root, id);
    if (!/^(apps|libs)\/[^/]+\/dist\/.*\.js$/.test(file)) return undefined;
    const place = `new URL(${JSON.stringify(`../../${file}`)}, import.meta.url).href`;
    return {
      code: readFileSync(id, 'utf8').replaceAll('import.meta.url', place),
      map: JSON.parse(readFileSync(`${id}.map`, 'utf8')),
    };
  },
  // A start reads the map of each file. Nobody looks for a line of a package in it.
  transform: (code, id) => (id.includes('/node_modules/') ? { code, map: { mappings: '' } } : undefined),
};

async function bundle() {
  const { build } = await import('vite');
  const made = `${folder}.new`;
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true, external: [...OUTSIDE, ...ABSENT] },
    plugins: [ownModules],
    build: {
      ssr: true,
      target: 'node20',
      outDir: made,
      emptyOutDir: true,
      minify: false,
      sourcemap: true,
      rolldownOptions: {
        // Modules register what they are by being loaded.
        treeshake: false,
        input: {
          ...Object.fromEntries(SERVICES.map((name) => [name, path.join(root, `apps/${name}/dist/program.js`)])),
          dev: path.join(root, 'apps/dev/dist/program.js'),
          'one-process': path.join(root, 'apps/dev/dist/one-process.js'),
          invite: path.join(root, 'apps/dev/dist/invite/program.js'),
          join: path.join(root, 'apps/agent/dist/enrol/join-program.js'),
        },
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  });
  // In one step, so that a program which starts meanwhile finds a whole bundle or none.
  rmSync(folder, { recursive: true, force: true });
  renameSync(made, folder);
}

if (!isNewest(pathToFileURL(path.join(folder, 'api.js')))) await bundle();
