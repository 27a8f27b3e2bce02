// Services in one process, as `npm start` has them, for one test file after the other: loading what they are made of takes
// most of a start, and happens once. Told by messages (service-host.ts) which to start and when to stop them. Ends when
// whoever started it does, and as soon as a service cannot go on.
import { loadProgram } from '../../libs/processes/dist/program.js';

const { startInOneProcess } = await loadProgram('one-process', () => import('../../apps/dev/dist/one-process.js'));

/** How often it is looked whether all are ready, ms. */
const LOOK_MS = 20;
/** How often it is looked whether all still are, ms. */
const LOOK_AGAIN_MS = 100;

/** @typedef {import('./service-host.js').ToServices} ToServices */
/** @typedef {import('./service-host.js').FromServices} FromServices */
/** @typedef {import('../../apps/dev/dist/cluster.js').Cluster} Cluster */

const fail = (/** @type {unknown} */ error) => {
  console.error(error);
  process.exit(1);
};
const tell = (/** @type {FromServices} */ message) => process.send?.(message);

/** Ends what runs now. */
let stop = async () => {};

/** @param {Extract<ToServices, { kind: 'start' }>} order */
async function start({ env, logDir, services }) {
  // Services and tasks see the environment that this cluster was given, and nothing of the one before.
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  const ending = new AbortController();
  const starting = startInOneProcess({
    env: process.env,
    agentEnv: {},
    logDir,
    services: /** @type {import('../../apps/dev/dist/service-names.js').ServiceName[]} */ (services),
    signal: ending.signal,
    say: (line) => console.error(line),
    onFatal: fail,
  });
  /** @type {NodeJS.Timeout | undefined} */
  let looking;
  stop = async () => {
    ending.abort(new Error('told to end'));
    clearInterval(looking);
    const cluster = await starting.catch(() => undefined);
    await cluster?.stop();
  };
  const cluster = await starting;
  while (!ending.signal.aborted && !(await cluster.states()).every(({ ready }) => ready))
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  tell({ kind: 'ready' });
  let told = '[]';
  const look = async () => {
    const ill = (await cluster.states()).flatMap(({ name, ready, detail }) => (ready ? [] : [`${name}: ${detail}`]));
    if (JSON.stringify(ill) !== told && !ending.signal.aborted) tell({ kind: 'not ready', reasons: ill });
    told = JSON.stringify(ill);
  };
  if (!ending.signal.aborted) looking = setInterval(() => void look(), LOOK_AGAIN_MS);
}

process.on('message', (/** @type {ToServices} */ message) => {
  if (message.kind === 'start') start(message).catch(fail);
  else stop().then(() => tell({ kind: 'stopped' }), fail);
});
process.once('disconnect', () => process.exit());
