// Puts what `tsc -b` has built into few files: most of a short command's time goes into finding and opening modules.
// What every start needs is one file, what many commands share another, and each command is one; bin/waybill.js takes
// them while nothing was built since.
//
//   node apps/cli/bundle.mjs [folder]     without a folder: where the command looks for it, unless that one is the newest
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BUNDLE, isBundleNewest } from './bundle-age.mjs';

const folder = process.argv[2];

/** A module that this many commands need is in the file that all of them load. */
const SHARED_BY = 8;

/** @param {string} file */
const here = (file) => fileURLToPath(new URL(file, import.meta.url));

async function bundle() {
  const { build } = await import('vite');
  const commands = readdirSync(here('dist/commands')).filter((file) => file.endsWith('.js'));

  await build({
    root: here('.'),
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node20',
      outDir: path.resolve(folder ?? fileURLToPath(BUNDLE)),
      emptyOutDir: true,
      minify: false,
      rolldownOptions: {
        // The catalogue imports a command by its name, so each keeps the place it has in dist.
        input: {
          ...Object.fromEntries(
            commands.map((file) => [`commands/${file.slice(0, -3)}`, here(`dist/commands/${file}`)]),
          ),
          jobspec: here('../../libs/jobspec/dist/index.js'),
          waybill: here('dist/main.js'),
        },
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: '[name].js',
          codeSplitting: {
            groups: [
              { name: 'times', priority: 5, test: /model[\\/]dist[\\/]time[\\/](clock|duration)\.js$/ },
              // Not main.js: it waits for the command, and a command would wait for the file that main.js is in.
              {
                name: 'start',
                priority: 4,
                test: /(cli[\\/]dist[\\/](program|command-line|server[\\/](server-call|wire))|model[\\/]dist[\\/]version)\.js$/,
              },
              { name: 'job-files', priority: 3, test: /libs[\\/]jobspec/ },
              { name: 'common', priority: 2, minShareCount: SHARED_BY, test: /apps[\\/]cli/ },
              { name: 'model', priority: 1, test: /libs[\\/]model[\\/]dist[\\/]index\.js$/ },
            ],
          },
        },
      },
    },
  });
}

if (folder !== undefined || !isBundleNewest()) await bundle();
