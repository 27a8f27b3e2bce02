import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import {
  DiskFullError,
  PortTakenError,
  SupervisedServer,
  embeddedDataPaths,
  freePort,
  openDataDirectory,
  startNats,
  startPostgres,
  startStack,
  wipe,
  type UnexpectedExit,
} from '@waybill/embedded';
import { isDamage } from '@waybill/projection';
import { Client } from 'pg';
import { describe, expect, it as base } from 'vitest';

const BUILT = fileURLToPath(new URL('../../libs/embedded/dist/index.js', import.meta.url));
const CONDITION_TIMEOUT_MS = 30_000;
const isRoot = process.getuid?.() === 0;

async function until<T>(what: string, condition: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + CONDITION_TIMEOUT_MS;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    await delay(20);
  }
  throw new Error(`timed out waiting until ${what}`, { cause: last });
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function withNats<T>(url: string, use: (nc: NatsConnection) => Promise<T>): Promise<T> {
  const nc = await connect({ servers: url, timeout: 2_000, reconnect: false });
  try {
    return await use(nc);
  } finally {
    await nc.close();
  }
}

async function publish(url: string, bytes = 1): Promise<number> {
  return await withNats(url, async (nc) => {
    await (await jetstreamManager(nc)).streams.add({ name: 'KEPT', subjects: ['kept'] });
    return (await jetstream(nc).publish('kept', 'x'.repeat(bytes))).seq;
  });
}

/** Process ids whose command line names the directory. A zombie has no command line: it has ended. */
function processesOf(dir: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(dir);
    } catch {
      return false; // ended while we looked
    }
  });
}

const LAUNCHER = `
  const { openDataDirectory, startNats, startPostgres } = await import(process.argv[1]);
  const options = JSON.parse(process.argv[2]);
  const log = (line) => process.stdout.write('log ' + line + '\\n');
  try {
    const { paths } = await openDataDirectory(options.dir);
    const [nats, postgres] = await Promise.all([
      startNats({ dir: paths.nats, port: options.natsPort, log }),
      startPostgres({ dir: paths.postgres, port: options.postgresPort, log }),
    ]);
    process.stdout.write('ready ' + JSON.stringify({ natsUrl: nats.url, databaseUrl: postgres.url, home: paths.postgresHome }) + '\\n');
  } catch (error) {
    process.stdout.write('failed ' + error.name + ': ' + error.message + '\\n');
    process.exit(1);
  }
`;

interface Launcher {
  readonly process: ChildProcess;
  readonly lines: string[];
  readonly ready: { natsUrl: string; databaseUrl: string; home: string };
}

interface LauncherOptions {
  readonly dir: string;
  readonly natsPort?: number;
  readonly postgresPort?: number;
}

/** A test with a directory of its own, so that two can run at once: what it opens is closed in reverse order. */
const it = base
  .extend('cleanups', ({ onTestFinished }) => {
    const cleanups: (() => unknown)[] = [];
    onTestFinished(async () => {
      for (const cleanup of cleanups.toReversed()) await cleanup();
    });
    return cleanups;
  })
  .extend('parent', ({ cleanups }) => {
    const parent = mkdtempSync(path.join(tmpdir(), 'waybill-embedded-'));
    chmodSync(parent, 0o711);
    cleanups.push(async () => {
      await until('no server is left', () => processesOf(parent).length === 0);
      rmSync(parent, { recursive: true, force: true });
    });
    return parent;
  })
  .extend('closing', ({ cleanups }) => <T extends { stop(): Promise<void> }>(server: T): T => {
    cleanups.push(async () => await server.stop());
    return server;
  })
  /** A launcher in a process of its own, built code, so that it can be killed. `prefix` runs it as somebody else. */
  .extend(
    'launch',
    ({ cleanups }) =>
      async (options: LauncherOptions, prefix: readonly string[] = []): Promise<Launcher> => {
        const node = [process.execPath, '--input-type=module', '-e', LAUNCHER, BUILT, JSON.stringify(options)];
        const child = spawn('env', [...prefix, ...node], { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' });
        cleanups.push(() => child.kill('SIGKILL'));
        const lines: string[] = [];
        const reader = createInterface({ input: child.stdout });
        reader.on('line', (line) => lines.push(line));
        const last = await until('the launcher is ready', () => lines.find((line) => /^(ready|failed) /.test(line)));
        if (last.startsWith('failed ')) throw new Error(last);
        const ready: Launcher['ready'] = JSON.parse(last.slice('ready '.length));
        return { process: child, lines, ready };
      },
  );

async function sigkill(launcher: Launcher): Promise<void> {
  const gone = new Promise((resolve) => launcher.process.once('exit', resolve));
  launcher.process.kill('SIGKILL');
  await gone;
}

describe.concurrent('embedded servers', () => {
  it('start on free ports and keep their data over an orderly stop', async ({ parent, closing }) => {
    const first = closing(await startStack({ dir: parent }));
    expect(await publish(first.natsUrl)).toBe(1);
    await query(first.databaseUrl, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    expect(processesOf(parent)).toEqual([]);

    const second = closing(await startStack({ dir: parent }));
    expect(await publish(second.natsUrl)).toBe(2);
    expect(await query(second.databaseUrl, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await second.stop();

    const copyOf = path.join(parent, 'postgres');
    const copy = closing(await startPostgres({ dir: path.join(parent, 'copy'), copyOf, throwaway: true }));
    await query(copy.url, 'DELETE FROM kept');
    const again = closing(await startPostgres({ dir: path.join(parent, 'again'), copyOf, throwaway: true }));
    expect(await query(again.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  });

  it('sort and store text the same on every machine, and keep a committed row over a crash of the host', async ({
    parent,
    closing,
  }) => {
    const postgres = closing(await startPostgres({ dir: path.join(parent, 'postgres') }));
    const [row] = await query(
      postgres.url,
      `SELECT pg_encoding_to_char(encoding) AS encoding, datlocale AS locale, current_database() AS name,
              current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit, current_setting('jit') AS jit
         FROM pg_database WHERE datname = current_database()`,
    );
    expect(row).toEqual({
      encoding: 'UTF8',
      locale: 'C.UTF-8',
      name: 'waybill',
      fsync: 'on',
      commit: 'on',
      jit: 'off',
    });
  });

  it('let nobody into the database without the password, which only the owner can read', async ({
    parent,
    closing,
  }) => {
    const postgres = closing(await startPostgres({ dir: path.join(parent, 'postgres') }));
    const file = path.join(parent, 'postgres', 'password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(postgres.url).toContain(encodeURIComponent(readFileSync(file, 'utf8').trim()));
    await expect(query(postgres.url.replace(/:[^:@/]+@/, ':wrong@'), 'SELECT 1')).rejects.toMatchObject({
      code: '28P01',
    });
  });

  it('take messages of nearly 8 MiB', async ({ parent, closing }) => {
    const nats = closing(await startNats({ dir: path.join(parent, 'nats') }));
    const max = await withNats(nats.url, (nc) => Promise.resolve(nc.info?.max_payload));
    expect(max).toBe(8 * 1024 * 1024);
  });

  it('name a port that is taken', async ({ parent, cleanups }) => {
    const port = await freePort();
    const blocker = createServer().listen(port, '127.0.0.1');
    cleanups.push(() => blocker.close());
    await new Promise((resolve) => blocker.once('listening', resolve));
    await expect(startNats({ dir: path.join(parent, 'nats'), port })).rejects.toEqual(
      new PortTakenError(port, 'nats-server'),
    );
    await expect(startPostgres({ dir: path.join(parent, 'postgres'), port })).rejects.toEqual(
      new PortTakenError(port, 'postgres'),
    );
    expect(processesOf(parent)).toEqual([]);
  });

  it('say in one line why PostgreSQL refuses to start', async ({ parent }) => {
    const failed = startPostgres({ dir: path.join(parent, 'postgres'), settings: ['no_such_setting=1'] });
    await expect(failed).rejects.toThrow(/^postgres failed: exited with code 1: .*no_such_setting.* \(log: .*\)$/);
    expect(processesOf(parent)).toEqual([]);
  });
});

describe.concurrent('a page that the disk has changed', () => {
  it('is an error of its own and not a wrong answer', async ({ parent, closing }) => {
    const dir = path.join(parent, 'postgres');
    const first = await startPostgres({ dir });
    await query(
      first.url,
      'CREATE TABLE kept AS SELECT n, repeat(md5(n::text), 20) AS t FROM generate_series(1, 1000) n',
    );
    const [{ at } = {}] = await query(first.url, "SELECT pg_relation_filepath('kept') AS at");
    await query(first.url, 'CHECKPOINT');
    await first.stop();
    const home = embeddedDataPaths(parent).postgresHome;
    const file = path.join(home, 'data', String(at));
    const pages = readFileSync(file);
    pages[3 * 8_192 + 5_000] = (pages[3 * 8_192 + 5_000] ?? 0) ^ 1;
    writeFileSync(file, pages);
    const second = closing(await startPostgres({ dir }));
    expect(await query(second.url, 'SHOW data_checksums')).toEqual([{ data_checksums: 'on' }]);
    const failure: unknown = await query(second.url, 'SELECT sum(length(t)) FROM kept').catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ code: 'XX001' });
    expect(isDamage(failure)).toBe(true);
  });
});

describe.concurrent('a killed server', () => {
  it.for(['nats', 'postgres'] as const)('(%s) is back on its port with its data', async (name, { closing }) => {
    const stack = closing(await startStack({ restart: true }));
    await publish(stack.natsUrl);
    await query(stack.databaseUrl, 'CREATE TABLE kept AS SELECT 7 AS n');
    for (let kill = 0; kill < 3; kill++) {
      const { pid } = stack[name];
      process.kill(pid, 'SIGKILL');
      await until('another process runs', () => stack[name].pid !== pid);
      expect(await until('NATS answers', async () => await publish(stack.natsUrl))).toBe(kill + 2);
      await until('PostgreSQL answers', async () => await query(stack.databaseUrl, 'SELECT n FROM kept'));
    }
  });

  it('is reported, and stays down unless asked to come back', async ({ parent, closing }) => {
    const exits: UnexpectedExit[] = [];
    const nats = closing(await startNats({ dir: path.join(parent, 'nats'), onExit: (exit) => exits.push(exit) }));
    process.kill(nats.pid, 'SIGKILL');
    const exit = await until('it is reported', () => exits[0]);
    expect(exit).toMatchObject({ server: 'nats-server', restartInMs: undefined });
    expect(exit.error.message).toContain('killed by signal 9');
    await nats.stop();
    expect(processesOf(parent)).toEqual([]);
  });

  it('comes back also when only its watcher was killed', async ({ parent, closing }) => {
    const nats = closing(await startNats({ dir: path.join(parent, 'nats'), restart: true }));
    const { pid } = nats;
    await publish(nats.url);
    const watcher = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    process.kill(Number(watcher), 'SIGKILL');
    await until('another process runs', () => nats.pid !== pid);
    expect(await until('NATS answers', async () => await publish(nats.url))).toBe(2);
  });

  it('ends a program whose watchers were all killed before the next one starts on its port', async ({
    parent,
    closing,
  }) => {
    const port = await freePort();
    const exits: UnexpectedExit[] = [];
    const answers = async (): Promise<string> => await (await fetch(`http://127.0.0.1:${port}`)).text();
    const server = new SupervisedServer({
      server: 'program',
      port,
      dir: parent,
      process: {
        command: process.execPath,
        args: [
          '-e',
          `http.createServer((_, answer) => answer.end(String(process.pid))).listen(${port}, '127.0.0.1'); // ${parent}`,
        ],
        stopSignal: 'TERM',
        cwd: parent,
        env: process.env,
        logFile: path.join(parent, 'program.log'),
      },
      readyTimeoutMs: CONDITION_TIMEOUT_MS,
      prepare: () => Promise.resolve(),
      isReady: async () => (await answers()) !== '',
      restart: true,
      brokenByFullDisk: false,
      onDiskFull: () => undefined,
      onExit: (exit) => exits.push(exit),
      log: () => undefined,
    });
    await server.start();
    closing(server);
    const { pid } = server;
    const parentOf = (one: number): number =>
      Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1]);
    const watcher = parentOf(pid);
    const watchers = readFileSync(`/proc/${watcher}/task/${watcher}/children`, 'utf8').trim().split(' ').map(Number);
    for (const one of [...watchers.filter((child) => child !== pid), watcher]) process.kill(one, 'SIGKILL');
    await until('another process answers', async () => {
      const answer = await answers().catch(() => '');
      return answer !== '' && answer !== String(pid);
    });
    expect(exits.map(({ error }) => error.message).join()).toContain('its watcher was killed');
    expect(exits).toHaveLength(1);
    expect(readFileSync(path.join(parent, 'program.log'), 'utf8')).not.toContain('EADDRINUSE');
  });

  it('does not come back after stop', async ({ parent, closing }) => {
    const exits: UnexpectedExit[] = [];
    const options = {
      dir: path.join(parent, 'nats'),
      restart: true,
      onExit: (exit: UnexpectedExit) => exits.push(exit),
    };
    const nats = closing(await startNats(options));
    process.kill(nats.pid, 'SIGKILL');
    await until('it is reported', () => exits.length > 0);
    await nats.stop();
    expect(processesOf(parent)).toEqual([]);
  });
});

describe.concurrent('a killed launcher', () => {
  it('leaves no server behind, and the next one goes on with the data', async ({ parent, launch }) => {
    const dir = path.join(parent, 'data');
    const first = await launch({ dir });
    await publish(first.ready.natsUrl);
    await query(first.ready.databaseUrl, 'CREATE TABLE kept AS SELECT 7 AS n');
    expect(processesOf(dir).length).toBeGreaterThan(2);
    await sigkill(first);
    await until('no process is left', () => processesOf(dir).length === 0);

    const second = await launch({ dir });
    expect(await publish(second.ready.natsUrl)).toBe(2);
    expect(await query(second.ready.databaseUrl, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  });

  it('can be followed at once, on the same ports, by one that waits for the old servers to end', async ({
    parent,
    launch,
  }) => {
    const options = { dir: path.join(parent, 'data'), natsPort: await freePort(), postgresPort: await freePort() };
    let launcher = await launch(options);
    for (let round = 1; round <= 3; round++) {
      expect(await publish(launcher.ready.natsUrl)).toBe(round);
      await sigkill(launcher);
      launcher = await launch(options);
    }
  });

  it('locks its directory against a second one only while it lives', async ({ parent, launch }) => {
    const dir = path.join(parent, 'data');
    const first = await launch({ dir });
    await expect(launch({ dir })).rejects.toThrow(`failed DataDirectoryError: ${dir} is in use by process`);
    await sigkill(first);
    await launch({ dir });
  });
});

describe.skipIf(!isRoot).concurrent('as root (only root can be refused by PostgreSQL)', () => {
  it('runs PostgreSQL from a private directory too, and a wipe clears what was put elsewhere', async ({
    parent,
    closing,
  }) => {
    const dir = path.join(parent, 'data');
    chmodSync(parent, 0o700);
    const opened = await openDataDirectory(dir);
    const postgres = closing(await startPostgres({ dir: opened.paths.postgres }));
    const { postgresHome } = embeddedDataPaths(dir);
    expect(path.dirname(postgresHome)).toBe('/var/lib/waybill');
    await query(postgres.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await postgres.stop();

    const again = closing(await startPostgres({ dir: opened.paths.postgres }));
    expect(await query(again.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await again.stop();
    await opened.release();
    await wipe(dir);
    expect(existsSync(postgresHome)).toBe(false);
  });

  it('finds no old database when the private directory was removed by hand, and says what is left of it', async ({
    parent,
    cleanups,
    closing,
  }) => {
    chmodSync(parent, 0o700);
    const removed = async (name: string): Promise<string> => {
      const dir = path.join(parent, name);
      const server = closing(await startPostgres({ dir: path.join(dir, 'postgres') }));
      const { postgresHome } = embeddedDataPaths(dir);
      cleanups.push(() => rmSync(postgresHome, { recursive: true, force: true }));
      await server.stop();
      rmSync(dir, { recursive: true });
      return postgresHome;
    };
    await removed('other');
    const postgresHome = await removed('data');
    const dir = path.join(parent, 'data');
    cleanups.push(async () => await wipe(dir));
    const said: string[] = [];
    const second = closing(await startPostgres({ dir: path.join(dir, 'postgres'), log: (line) => said.push(line) }));
    expect(embeddedDataPaths(dir).postgresHome).not.toBe(postgresHome);
    // The one of this directory is named first, however many others there are.
    expect(said[0]).toContain(`${postgresHome} is the database of ${path.join(dir, 'postgres')}`);
    await second.stop();
  });

  it('keeps the database of a private directory that was moved when another begins in its old place', async ({
    parent,
    cleanups,
    closing,
  }) => {
    chmodSync(parent, 0o700);
    const [dir, moved] = [path.join(parent, 'data'), path.join(parent, 'moved')];
    cleanups.push(
      async () => await wipe(dir),
      async () => await wipe(moved),
    );
    const first = closing(await startPostgres({ dir: path.join(dir, 'postgres') }));
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    renameSync(dir, moved);
    await closing(await startPostgres({ dir: path.join(dir, 'postgres') })).stop();
    const again = closing(await startPostgres({ dir: path.join(moved, 'postgres') }));
    expect(await query(again.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await again.stop();
  });

  it('names a full disk at the start', async ({ parent, cleanups, skip }) => {
    if (!mountSmallDisk(parent, '3m')) return skip('this machine does not allow mounting a small disk');
    cleanups.push(async () => await unmount(parent));
    await expect(startNats({ dir: path.join(parent, 'nats') })).rejects.toThrow(DiskFullError);
    await expect(startPostgres({ dir: path.join(parent, 'postgres') })).rejects.toThrow(DiskFullError);
    return undefined;
  });

  it('reports a disk that fills up, and goes on by itself when there is room', async ({
    parent,
    cleanups,
    closing,
    skip,
  }) => {
    if (!mountSmallDisk(parent, '160m')) return skip('this machine does not allow mounting a small disk');
    cleanups.push(async () => await unmount(parent));
    const full: string[] = [];
    const onDiskFull = (error: DiskFullError) => full.push(error.dir);
    const dirs = { nats: path.join(parent, 'nats'), postgres: path.join(parent, 'postgres') };
    const nats = closing(await startNats({ dir: dirs.nats, restart: true, onDiskFull }));
    const postgres = closing(await startPostgres({ dir: dirs.postgres, restart: true, onDiskFull }));
    expect(await publish(nats.url)).toBe(1);
    const filler = path.join(parent, 'filler');
    spawnSync('sh', ['-c', 'cat /dev/zero > "$0"', filler], { stdio: 'ignore' });
    await until('both report it', () => full.length >= 2);
    expect(full.toSorted()).toEqual([dirs.nats, dirs.postgres]);
    await expect(publish(nats.url, 1_000_000)).rejects.toThrow();
    rmSync(filler);
    await until('NATS takes messages', async () => (await publish(nats.url)) > 1);
    await until('PostgreSQL takes rows', async () => await query(postgres.url, 'CREATE TABLE kept AS SELECT 7 AS n'));
    return undefined;
  });

  it('reports a disk that is mounted below its directory and fills up, and goes on when there is room', async ({
    parent,
    cleanups,
    closing,
    skip,
  }) => {
    const dir = path.join(parent, 'nats');
    const streams = path.join(dir, 'streams');
    mkdirSync(streams, { recursive: true });
    if (!mountSmallDisk(streams, '64m')) return skip('this machine does not allow mounting a small disk');
    cleanups.push(async () => await unmount(streams));
    const full: string[] = [];
    const nats = closing(await startNats({ dir, restart: true, onDiskFull: (error) => full.push(error.dir) }));
    expect(await publish(nats.url)).toBe(1);
    const filler = path.join(streams, 'filler');
    spawnSync('sh', ['-c', 'cat /dev/zero > "$0"', filler], { stdio: 'ignore' });
    await until('it reports the disk that is full', () => full.length > 0);
    expect(full).toEqual([realpathSync(streams)]);
    rmSync(filler);
    await until('NATS takes messages', async () => (await publish(nats.url)) > 1);
    await nats.stop();
    return undefined;
  });

  it('started on a disk with little room, it takes what the disk holds once there is more', async ({
    parent,
    cleanups,
    closing,
    skip,
  }) => {
    if (!mountSmallDisk(parent, '160m')) return skip('this machine does not allow mounting a small disk');
    cleanups.push(async () => await unmount(parent));
    const filler = path.join(parent, 'filler');
    writeFileSync(filler, Buffer.alloc(110 * 1024 * 1024));
    const nats = closing(await startNats({ dir: path.join(parent, 'nats') }));
    expect(await publish(nats.url)).toBe(1);
    rmSync(filler);
    // Sixteen times 4 MiB: more than was free when it started.
    for (let n = 2; n <= 17; n++) expect(await publish(nats.url, 4 * 1024 * 1024)).toBe(n);
    await nats.stop();
    return undefined;
  });
});

function mountSmallDisk(at: string, size: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0711`, 'tmpfs', at], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function nobody(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
}

interface OrdinaryUser {
  readonly uid: number;
  readonly gid: number;
  /** The command that runs another as this user. */
  readonly prefix: readonly string[];
}

async function unmount(at: string): Promise<void> {
  await until('nothing uses the disk', () => execFileSync('umount', [at], { stdio: 'ignore' }) !== undefined);
}

/** How to become an ordinary user; undefined when this machine has no way. */
function ordinaryUser(): OrdinaryUser | undefined {
  try {
    const uid = nobody('-u');
    const gid = nobody('-g');
    const prefix = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
    execFileSync('env', [...prefix, 'test', '-r', BUILT], { stdio: 'ignore' });
    return { uid, gid, prefix };
  } catch {
    return undefined;
  }
}

describe
  .skipIf(!isRoot)
  .concurrent('as an ordinary user (only root can become one; otherwise all tests above run as one)', () => {
    it('runs both servers and names a directory without permission', async ({ parent, launch, skip }) => {
      const user = ordinaryUser();
      if (!user) return skip('no setpriv, or an ordinary user cannot read this project');
      chmodSync(parent, 0o755);
      await expect(launch({ dir: path.join(parent, 'denied') }, user.prefix)).rejects.toThrow(
        /failed DataDirectoryError: No permission to write to .*denied/,
      );
      chownSync(parent, user.uid, user.gid);
      const launcher = await launch({ dir: path.join(parent, 'data') }, user.prefix);
      expect(await publish(launcher.ready.natsUrl)).toBe(1);
      expect(await query(launcher.ready.databaseUrl, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
      expect(launcher.ready.home).toBe(path.join(parent, 'data', 'postgres'));
      await sigkill(launcher);
      await until('no process is left', () => processesOf(parent).length === 0);
      return undefined;
    });
  });
