// `npm run service NAME [-- --inspect] [--watch] [--data-dir DIR]`: one service in a process of its own, on the servers of a
// running `npm start`. Everything that node takes goes to node; what the environment sets is left alone.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { embeddedDataPaths } from '@waybill/embedded';
import { root } from './source-tree.mjs';

/** The agent has a machine's identity and directory: `waybill agent join` makes both. */
const NAMES = readdirSync(path.join(root, 'apps')).filter(
  (name) => name !== 'agent' && /runService/.test(textOrNone(path.join(root, 'apps', name, 'src', 'program.ts'))),
);

/** @param {string} file */
function textOrNone(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** @param {string} text @returns {never} */
function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

const { values, positionals } = parseArgs({
  options: {
    inspect: { type: 'boolean', default: false },
    'inspect-brk': { type: 'boolean', default: false },
    watch: { type: 'boolean', default: false },
    'data-dir': { type: 'string', default: '.waybill' },
  },
  allowPositionals: true,
});
const [name = ''] = positionals;
if (!NAMES.includes(name)) fail(`npm run service NAME: NAME is one of ${NAMES.join(', ')}`);

/** @returns {NodeJS.ProcessEnv} where the servers of `npm start` listen, and the key that lets a service in */
function serversOfStart() {
  if (process.env['WAYBILL_NATS_URL'] && process.env['WAYBILL_DATABASE_URL']) return {};
  const paths = embeddedDataPaths(values['data-dir']);
  const nats = /^port: (\d+)$/m.exec(textOrNone(path.join(paths.nats, 'nats-server.conf')))?.[1];
  // Line 4 of a PostgreSQL's pid file is its port. The file goes when PostgreSQL ends.
  const postgres = textOrNone(path.join(paths.postgresHome, 'data', 'postmaster.pid')).split('\n')[3];
  if (!nats || !postgres)
    fail(
      `nothing runs in ${paths.root}: run \`npm start\` in another terminal, or set WAYBILL_NATS_URL and WAYBILL_DATABASE_URL`,
    );
  const password = encodeURIComponent(textOrNone(path.join(paths.postgres, 'password')).trim());
  return {
    WAYBILL_NATS_URL: `nats://127.0.0.1:${nats}`,
    WAYBILL_NATS_CREDENTIALS: path.join(paths.credentials, 'services.seed'),
    WAYBILL_DATABASE_URL: `postgresql://waybill:${password}@127.0.0.1:${postgres}/waybill`,
    WAYBILL_HTTP_AGENT_DIR: paths.agent,
    ...keyringKeyOf(paths.credentials),
  };
}

/** @param {string} credentials @returns {NodeJS.ProcessEnv} the key that wraps root keys, unless the environment names one */
function keyringKeyOf(credentials) {
  const file = path.join(credentials, 'keyring.key');
  const named = process.env['WAYBILL_KEYRING_KEY_FILE'] || process.env['WAYBILL_KEYRING_KEY'];
  return named || !existsSync(file) ? {} : { WAYBILL_KEYRING_KEY_FILE: file };
}

const nodeOptions = ['inspect', 'inspect-brk', 'watch'].filter((option) => values[/** @type {'watch'} */ (option)]);
const child = spawn(
  process.execPath,
  ['--enable-source-maps', ...nodeOptions.map((option) => `--${option}`), `apps/${name}/dist/program.js`],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      WAYBILL_LOG_FORMAT: 'line',
      WAYBILL_OPS_PORT: '0', // any that is free
      WAYBILL_HTTP_PORT: '4647', // the API of `npm start` has 4646
      ...serversOfStart(),
      ...process.env,
    },
  },
);
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
