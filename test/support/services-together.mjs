// Services in one process, as `npm start` has them: `node services-together.mjs LOGS NAME…`. Says `ready` when all are, then a
// JSON line whenever other services than before are not ready, with the reasons; ends at SIGTERM.
import { loadProgram } from '../../libs/processes/dist/program.js';

const { startInOneProcess } = await loadProgram('one-process', () => import('../../apps/dev/dist/one-process.js'));

/** How often it is looked whether all are ready, ms. */
const LOOK_MS = 20;
/** How often it is looked whether all still are, ms. */
const LOOK_AGAIN_MS = 100;

const [logDir = '.', ...services] = process.argv.slice(2);
const ending = new AbortController();
process.once('SIGTERM', () => ending.abort(new Error('told to end')));
const fail = (/** @type {unknown} */ error) => {
  console.error(error);
  process.exit(1);
};

const cluster = await startInOneProcess({
  env: process.env,
  agentEnv: {},
  logDir,
  services: /** @type {import('../../apps/dev/dist/service-names.js').ServiceName[]} */ (services),
  signal: ending.signal,
  say: (line) => console.error(line),
  onFatal: fail,
}).catch(fail);
while (cluster && !(await cluster.states()).every(({ ready }) => ready))
  await new Promise((r) => setTimeout(r, LOOK_MS));
process.stdout.write('ready\n');
let said = '[]';
const tell = async () => {
  const ill = (await cluster?.states())?.flatMap(({ name, ready, detail }) => (ready ? [] : [`${name}: ${detail}`]));
  const line = JSON.stringify(ill ?? []);
  if (line !== said) process.stdout.write(`${line}\n`);
  said = line;
};
setInterval(() => void tell(), LOOK_AGAIN_MS).unref();
if (!ending.signal.aborted)
  await new Promise((resolve) => ending.signal.addEventListener('abort', resolve, { once: true }));
await cluster?.stop();
process.exit();
