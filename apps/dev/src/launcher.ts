import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { assertPortFree, openDataDirectory, type RunningServer, startNats, startPostgres } from '@waybill/embedded';
import type { ServiceState } from '@waybill/service';
import pc from 'picocolors';
import type { Cluster } from './cluster.js';
import { registerExample, runningExample } from './example.js';
import { startInManyProcesses } from './many-processes.js';
import { startInOneProcess } from './one-process.js';
import type { LaunchOptions } from './options.js';

/** How long the services may take to be ready after they have started. */
const SETTLE_MS = 15_000;
const SETTLE_POLL_MS = 25;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Something that was started and has to be stopped, last one first. */
type Stop = () => Promise<void> | void;

/**
 * `npm start`: brings everything up, shows it, and takes it down again on Ctrl-C, in order.
 * Servers and services cannot outlive this process, not even its SIGKILL (libs/embedded).
 * @returns the exit code
 */
export async function launch(options: LaunchOptions): Promise<number> {
  const began = performance.now();
  const stops: Stop[] = [];
  const ended = endOfRun();
  let code = 0;
  try {
    const cluster = await bringUp(options, stops, ended);
    if (!ended.asked) await show(cluster, options, (performance.now() - began) / 1000);
    const failure = await ended.happened;
    if (failure) throw failure;
    say('\nStopping …');
  } catch (error) {
    code = 1;
    process.stderr.write(`${pc.red('waybill:')} ${error instanceof Error ? error.message : String(error)}\n`);
  }
  for (const stop of stops.toReversed()) await stopQuietly(stop);
  if (code === 0) say('Stopped. Everything is kept; the next start goes on from here.');
  return code;
}

/** A part that fails to stop must not keep the others running. */
async function stopQuietly(stop: Stop): Promise<void> {
  try {
    await stop();
  } catch (error) {
    process.stderr.write(`${pc.yellow('waybill:')} ${error instanceof Error ? error.message : String(error)}\n`);
  }
}

async function bringUp(options: LaunchOptions, stops: Stop[], ended: EndOfRun): Promise<Cluster> {
  await assertPortFree(options.port, 'the HTTP API');
  const data = await openDataDirectory(options.dataDir, { fresh: options.fresh, log: say });
  stops.push(() => data.release());
  const { WAYBILL_NATS_URL, WAYBILL_DATABASE_URL } = process.env;
  const onExit = ({ error }: { error: Error }): void => say(pc.yellow(`${error.message}; starting it again`));
  const server = async (start: Promise<RunningServer>): Promise<string> => {
    const running = await start;
    stops.push(() => running.stop());
    return running.url;
  };
  const [nats, database] = await Promise.allSettled([
    WAYBILL_NATS_URL ?? server(startNats({ dir: data.paths.nats, restart: true, onExit, log: say })),
    WAYBILL_DATABASE_URL ?? server(startPostgres({ dir: data.paths.postgres, restart: true, onExit, log: say })),
  ]);
  if (nats.status === 'rejected') throw nats.reason;
  if (database.status === 'rejected') throw database.reason;
  const logDir = path.join(data.paths.root, 'logs');
  mkdirSync(logDir, { recursive: true });
  const environment = { env: serviceEnvironment(options, data.paths.agent, nats.value, database.value), logDir, say };
  const cluster = await (options.processes
    ? startInManyProcesses(environment)
    : startInOneProcess(environment, (error) => ended.fail(error)));
  stops.push(() => cluster.stop());
  return cluster;
}

function serviceEnvironment(
  options: LaunchOptions,
  agentDir: string,
  natsUrl: string,
  databaseUrl: string,
): NodeJS.ProcessEnv {
  return {
    WAYBILL_LOG_FORMAT: 'line',
    ...process.env,
    WAYBILL_NATS_URL: natsUrl,
    WAYBILL_DATABASE_URL: databaseUrl,
    WAYBILL_HTTP_PORT: String(options.port),
    WAYBILL_AGENT_DIR: agentDir,
    WAYBILL_AGENT_HTTP_ADDR: `127.0.0.1:${options.port}`,
    WAYBILL_AGENT_STOP_TASKS_ON_EXIT: 'true',
  };
}

async function show(cluster: Cluster, options: LaunchOptions, seconds: number): Promise<void> {
  const api = `http://127.0.0.1:${options.port}`;
  for (const state of await settled(cluster))
    say(`  ${state.ready ? pc.green('ready') : pc.red('down ')}  ${state.name.padEnd(12)}${state.detail}`);
  say(`\n${pc.bold('Waybill is up')} after ${seconds.toFixed(1)} s: ${pc.cyan(api)}`);
  const command = options.port === 4646 ? 'npx waybill' : `npx waybill -address=${api}`;
  let alloc = '<allocation>';
  if (!options.empty) {
    await registerExample(api);
    const running = await runningExample(api);
    if (running) {
      alloc = running.ID.slice(0, 8);
      say(`The job ${pc.bold('hello')} runs: allocation ${alloc}`);
    } else say(pc.yellow(`The job hello does not run yet: ${command} job status hello tells why`));
  }
  say('\nThree things to try, in another terminal:');
  say(options.empty ? `  ${command} job run examples/hello.nomad.json` : `  ${command} job status hello`);
  say(options.empty ? `  ${command} node status` : `  ${command} alloc logs -f ${alloc}`);
  say(`  ${command} event tail`);
  say(`\nLogs: ${path.join(options.dataDir, 'logs')}    Ctrl-C stops everything.`);
}

/** The states once all are ready, or as they are after SETTLE_MS: then they say what is missing. */
async function settled(cluster: Cluster): Promise<readonly ServiceState[]> {
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    const states = await cluster.states();
    if (performance.now() > until || states.every((state) => state.ready)) return states;
    await delay(SETTLE_POLL_MS);
  }
}

interface EndOfRun {
  /** Resolves with a failure, or with undefined when a person asked for the end. */
  readonly happened: Promise<Error | undefined>;
  asked: boolean;
  fail(error: Error): void;
}

/** Ctrl-C once: an orderly end. Twice: at once (whatever is left dies with this process). */
function endOfRun(): EndOfRun {
  let resolve: (failure: Error | undefined) => void = () => undefined;
  const end: EndOfRun = {
    happened: new Promise((r) => (resolve = r)),
    asked: false,
    fail: (error) => resolve(error),
  };
  const ask = (): void => {
    if (end.asked) process.exit(130);
    end.asked = true;
    resolve(undefined);
  };
  process.on('SIGINT', ask);
  process.on('SIGTERM', ask);
  process.on('SIGHUP', ask);
  return end;
}
