import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { assertPortFree, embeddedDataPaths, openDataDirectory } from '@waybill/embedded';
import { makeDirectorySync } from '@waybill/processes';
import type { ServiceState } from '@waybill/service';
import pc from 'picocolors';
import type { Cluster } from './cluster.js';
import { EndOfRun } from './end-of-run.js';
import { registerExample, runningExample } from './example.js';
import { clusterKeyIn, keyringKeyIn } from './cluster-key.js';
import type { LaunchOptions } from './options.js';
import { complain, Report } from './report.js';
import { LocalApi, type LocalApiTls } from './local-api.js';
import { ownCertificates, type OwnCertificates } from './tls/own-certificates.js';
import { SERVICE_NAMES, type ServiceName } from './service-names.js';
import { isFirstStart, type Servers, startServers } from './servers.js';

/** The time that the services may take to be ready after they have started. */
const SETTLE_MS = 15_000;
const SETTLE_POLL_MS = 25;

/** A Stop stops a part that was started. The last part is stopped first. */
type Stop = () => Promise<void> | void;

/**
 * launch is `npm start`: it starts everything, shows it, and stops it in order on Ctrl-C.
 * Servers and services cannot outlive this process, not even its SIGKILL (libs/embedded). Tasks can, as they outlive
 * every agent that is killed (AG-192). The next start takes them over, and a start with `--fresh` kills them.
 * @returns the exit code
 */
export async function launch(options: LaunchOptions): Promise<number> {
  const stops: Stop[] = [];
  const { agent } = embeddedDataPaths(options.dataDir);
  const end = new EndOfRun(() => killTasks(agent)).listen();
  const report = new Report(!options.fresh && !isFirstStart(options.dataDir));
  try {
    await upUntilTheEnd(options, stops, end, report);
  } catch (error) {
    // A request to end makes a start fail that is under way. That is not a failure of the run.
    if (!end.signal.aborted) end.fail(error instanceof Error ? error : new Error(String(error)));
  }
  const { failure } = end;
  if (failure) complain(failure);
  else report.say('\nStopping …');
  for (const stop of stops.toReversed()) await stopQuietly(stop);
  if (failure) return 1;
  report.say('Stopped. Everything is kept; the next start goes on from here.');
  return 0;
}

/** Kills the tasks that an agent has left running. It loads the agent's code only if there are runs. */
async function killTasks(agentDir: string): Promise<void> {
  if (!existsSync(path.join(agentDir, 'runs'))) return;
  const { killLeftRunning } = await import('@waybill/agent');
  await killLeftRunning(agentDir).catch(complain);
}

/** Stops a part and reports an error. A part that fails to stop must not keep the others running. */
async function stopQuietly(stop: Stop): Promise<void> {
  try {
    await stop();
  } catch (error) {
    complain(error);
  }
}

/** Run holds the parts that are up. */
interface Run {
  readonly cluster: Cluster;
  readonly api: LocalApi;
  /** Lines for a shell whose programs have to reach the API. The list is empty if they need none. */
  readonly exports: readonly string[];
}

async function upUntilTheEnd(options: LaunchOptions, stops: Stop[], end: EndOfRun, report: Report): Promise<void> {
  const run = await bringUp(options, stops, end, report);
  end.signal.throwIfAborted();
  await Promise.race([show(run, options, report), end.happened]);
  await end.happened;
}

async function bringUp(options: LaunchOptions, stops: Stop[], end: EndOfRun, report: Report): Promise<Run> {
  await checkEnvironment(process.env, options);
  await assertPortFree(options.port, 'the HTTP API');
  const data = await openDataDirectory(options.dataDir, {
    fresh: options.fresh,
    freshDatabase: options.rebuildDatabase,
    log: report.warn,
    beforeRemoval: (paths) => killTasks(paths.agent),
  });
  stops.push(() => data.release());
  const logDir = path.join(data.paths.root, 'logs');
  makeDirectorySync(logDir);
  report.say(`Waybill starts in ${data.paths.root}`);
  const certificates = options.tls ? await certificatesOf(data.paths.tls, options, report) : undefined;
  const loading = loadCluster(options.processes); // its second of work, while the servers do theirs
  const servers = await startServers(
    { paths: data.paths, env: process.env, nats: options, tls: certificates },
    report,
    (server) => stops.push(() => server.stop()),
  );
  const startCluster = await loading;
  end.signal.throwIfAborted();
  const env = {
    ...serviceEnvironment(options, data.paths.agent, servers, certificates),
    ...(await keyringEnvironment(process.env, data.paths.credentials)),
    ...(await aclEnvironment(options, data.paths.credentials)),
  };
  const cluster = await report.during(
    'services',
    'starting',
    startCluster({
      env,
      agentEnv: agentEnvironment(servers),
      logDir,
      services: servicesOf(options),
      signal: end.signal,
      say: report.warn,
      onFatal: (error) => end.fail(error),
    }),
  );
  stops.push(() => cluster.stop());
  return { cluster, api: new LocalApi(options.port, apiTlsOf(env)), exports: exportsOf(env, certificates, options) };
}

/**
 * Reports a mistake in the environment before anything starts. Reading settings loads the code of all services, so the
 * check runs only if some setting is given.
 * @throws SettingsError
 */
async function checkEnvironment(env: NodeJS.ProcessEnv, { acl }: LaunchOptions): Promise<void> {
  if (!Object.keys(env).some((name) => name.startsWith('WAYBILL_'))) return;
  const { readSettings, SettingsError, unprotectedListening } = await import('@waybill/service');
  const settings = readSettings(acl ? { ...env, WAYBILL_ACL_ENABLED: 'true' } : env, []);
  const problems = unprotectedListening(settings);
  if (problems.length > 0) throw new SettingsError(problems);
}

const servicesOf = ({ agent }: LaunchOptions): readonly ServiceName[] =>
  SERVICE_NAMES.filter((name) => agent || name !== 'agent');

/**
 * Loads only the code that this way of running needs, because loading the code of all services takes most of the time
 * of a start.
 */
async function loadCluster(processes: boolean): Promise<typeof import('./one-process.js').startInOneProcess> {
  return processes
    ? (await import('./many-processes.js')).startInManyProcesses
    : (await import('./one-process.js')).startInOneProcess;
}

/**
 * The thresholds keep the output of ended tasks. A developer's disk is often fuller than a machine's should be, and the
 * output is needed all the same.
 */
const KEEPS_ENDED = { WAYBILL_GC_DISK_USAGE_THRESHOLD: '99', WAYBILL_GC_INODE_USAGE_THRESHOLD: '99' };

async function certificatesOf(directory: string, options: LaunchOptions, report: Report): Promise<OwnCertificates> {
  const region = options.region ?? (process.env['WAYBILL_REGION'] || 'global');
  const { made, ...files } = await ownCertificates(directory, region, Date.now());
  const what = { everything: 'CA and certificates made', certificates: 'certificates renewed', nothing: 'as before' };
  report.state({ name: 'tls', ready: true, detail: `${what[made]}, ${directory}` });
  return files;
}

const tlsEnvironment = (files: OwnCertificates | undefined): NodeJS.ProcessEnv =>
  files === undefined
    ? {}
    : {
        WAYBILL_TLS_HTTP: 'true',
        WAYBILL_TLS_CA_FILE: files.caFile,
        WAYBILL_TLS_CERT_FILE: files.certFile,
        WAYBILL_TLS_KEY_FILE: files.keyFile,
      };

/** Returns how to call the API if it uses TLS, because of --tls or because of the environment. */
function apiTlsOf(env: NodeJS.ProcessEnv): LocalApiTls | undefined {
  if (env['WAYBILL_TLS_HTTP'] !== 'true') return undefined;
  return {
    caFile: env['WAYBILL_TLS_CA_FILE'] ?? '',
    certFile: env['WAYBILL_TLS_CERT_FILE'] ?? '',
    keyFile: env['WAYBILL_TLS_KEY_FILE'] ?? '',
  };
}

/** Returns the lines for Waybill's command line, for `nomad` and for every program that uses the official client. */
function exportsOf(env: NodeJS.ProcessEnv, files: OwnCertificates | undefined, { port }: LaunchOptions): string[] {
  if (files === undefined) return [];
  const shown: Record<string, string> = {
    NOMAD_ADDR: `https://127.0.0.1:${port}`,
    NOMAD_CACERT: files.caFile,
    ...(env['WAYBILL_TLS_VERIFY_HTTPS_CLIENT'] === 'true' && {
      NOMAD_CLIENT_CERT: files.cliCertFile,
      NOMAD_CLIENT_KEY: files.cliKeyFile,
    }),
  };
  return Object.entries(shown).map(([name, value]) => `export ${name}=${shellWord(value)}`);
}

const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function serviceEnvironment(
  options: LaunchOptions,
  agentDir: string,
  servers: Servers,
  certificates: OwnCertificates | undefined,
): NodeJS.ProcessEnv {
  return {
    WAYBILL_LOG_FORMAT: 'line',
    WAYBILL_AGENT_SECRETS_IN_MEMORY: 'false', // whatever ends this, its directory can be deleted
    WAYBILL_AUDIT_FILE: path.resolve(options.dataDir, 'audit', 'audit.log'),
    ...process.env,
    ...regionEnvironment(options),
    ...tlsEnvironment(certificates),
    WAYBILL_NATS_URL: servers.natsUrl,
    ...(servers.credentials && { WAYBILL_NATS_CREDENTIALS: servers.credentials.services }),
    WAYBILL_DATABASE_URL: servers.databaseUrl,
    WAYBILL_HTTP_PORT: String(options.port),
    WAYBILL_HTTP_AGENT_DIR: agentDir,
    WAYBILL_OPS_PORT: '0', // one port cannot be that of eight services
    WAYBILL_AGENT_DIR: agentDir,
    WAYBILL_AGENT_HTTP_ADDR: `127.0.0.1:${options.port}`,
    WAYBILL_AGENT_STOP_TASKS_ON_EXIT: 'true',
    ...KEEPS_ENDED,
  };
}

/**
 * Returns the settings of access control. The cluster's key is made at the first start with access control and kept.
 */
async function aclEnvironment({ acl }: LaunchOptions, credentials: string): Promise<NodeJS.ProcessEnv> {
  if (!acl) return {};
  return { WAYBILL_ACL_ENABLED: 'true', WAYBILL_ACL_KEY_FILE: await clusterKeyIn(credentials) };
}

/**
 * Returns the settings of the keyring. The key that wraps root keys is made at the first start and kept. The
 * environment may name another key.
 */
async function keyringEnvironment(env: NodeJS.ProcessEnv, credentials: string): Promise<NodeJS.ProcessEnv> {
  if (Object.keys(env).some((name) => name.startsWith('WAYBILL_KEYRING_') && env[name])) return {};
  return { WAYBILL_KEYRING_KEY_FILE: await keyringKeyIn(credentials) };
}

const agentEnvironment = ({ credentials }: Servers): NodeJS.ProcessEnv =>
  credentials ? { WAYBILL_NATS_CREDENTIALS: credentials.agent } : {};

/** Returns the settings of regions from the command line. They override the environment. */
function regionEnvironment({ region, peer }: LaunchOptions): NodeJS.ProcessEnv {
  const peers = Object.entries(peer).map(([name, url]) => `${name}=${url}`);
  return {
    ...(region !== undefined && { WAYBILL_REGION: region }),
    ...(peers.length > 0 && { WAYBILL_PEERS: peers.join(',') }),
  };
}

async function show({ cluster, api, exports }: Run, options: LaunchOptions, report: Report): Promise<void> {
  const { say } = report;
  for (const state of await report.during('services', 'getting ready', settled(cluster))) report.state(state);
  const alloc = options.empty || options.acl || !options.agent ? undefined : await showExample(api, options, report);
  const command = commandFor(options);
  say(`\n${pc.bold('Waybill is up')} after ${(performance.now() / 1000).toFixed(1)} s: ${pc.cyan(api.url)}`);
  if (exports.length > 0) say(['\nIt speaks TLS. In every other terminal, first:', ...exports].join('\n  '));
  say('\nThree things to try, in another terminal:');
  say(
    options.empty || options.acl ? `  ${command} job run examples/hello.nomad.json` : `  ${command} job status hello`,
  );
  say(alloc === undefined ? `  ${command} node status` : `  ${command} alloc logs -f ${alloc}`);
  say(`  ${command} event tail`);
  if (options.acl) for (const line of withTokens(command)) say(line);
  say(`\nLogs: ${path.join(options.dataDir, 'logs')}    Ctrl-C stops everything.`);
}

/** Returns the lines about tokens, which the three commands need: without a token nothing is allowed. */
const withTokens = (command: string): readonly string[] => [
  `\n${pc.bold('Access control is on')}: each of these needs a token (docs/access-control.md). The first one is made once, by`,
  `  ${command} acl bootstrap`,
  '  export NOMAD_TOKEN=<the Secret ID it prints>',
];

const commandFor = ({ port, tls }: LaunchOptions): string =>
  tls || port === 4646 ? `npx waybill` : `WAYBILL_ADDR=http://127.0.0.1:${port} npx waybill`;

/** @returns the short ID of a running allocation of the example, if there is one */
async function showExample(api: LocalApi, options: LaunchOptions, report: Report): Promise<string | undefined> {
  const name = 'job hello';
  if ((await registerExample(api)) === 'stopped') {
    report.say(`  ${pc.dim('ended')}  ${name.padEnd(12)}stopped earlier, left as it is`);
    return undefined;
  }
  const running = await report.during(name, 'being scheduled and started', runningExample(api));
  const id = running?.ID.slice(0, 8);
  if (id === undefined)
    report.state({ name, ready: false, detail: `not running: ${commandFor(options)} job status hello tells why` });
  else report.say(`  ${pc.green('runs ')}  ${name.padEnd(12)}allocation ${id}`);
  return id;
}

/** Returns the states once all services are ready, or after SETTLE_MS. Then the states say what is missing. */
async function settled(cluster: Cluster): Promise<readonly ServiceState[]> {
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    const states = await cluster.states();
    if (performance.now() > until || states.every((state) => state.ready)) return states;
    await delay(SETTLE_POLL_MS);
  }
}
