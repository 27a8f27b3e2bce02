import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { identityOf } from '@waybill/processes';
import type { HostVolumeOnNode } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findHostVolumePlugins } from './host-volume-plugins.store.js';

const canMount = process.getuid?.() === 0;

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(path.join(tmpdir(), 'waybill-host-volume-plugins-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

const ID = fixtures.uuid(1);
const volume = (Parameters: Record<string, string> | null = null): HostVolumeOnNode => ({
  Namespace: 'team',
  ID,
  Name: 'data',
  PluginID: 'mkdir',
  NodePool: 'gpu',
  NodeID: fixtures.uuid(0xa),
  RequestedCapacityMinBytes: 1,
  RequestedCapacityMaxBytes: 2,
  Parameters,
  HostPath: '/made',
});

const found = () =>
  findHostVolumePlugins({ volumesDir: path.join(dir, 'volumes'), pluginDir: path.join(dir, 'plugins') }, silentLogger);

async function plugin(id: string) {
  const one = (await found()).get(id);
  if (!one) throw new Error(`no plugin ${id}`);
  return one;
}

/** Installs a shell program in the plugin directory. */
async function installed(id: string, lines: string, mode = 0o755): Promise<void> {
  const file = path.join(dir, 'plugins', id);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n[ "$1" = "$DHV_OPERATION" ] || exit 9\n${lines}\n`);
  await chmod(file, mode);
}

describe('the built-in plugin', () => {
  it.skipIf(!canMount)(
    'VL-296: a volume in which something is mounted is not deleted with it (needs root)',
    async () => {
      const mkdirPlugin = await plugin('mkdir');
      const { HostPath } = await mkdirPlugin.create(volume());
      const [at, elsewhere] = [path.join(HostPath, 'mounted'), path.join(dir, 'elsewhere')];
      for (const one of [at, elsewhere]) await mkdir(one);
      await writeFile(path.join(elsewhere, 'precious'), 'data');
      execFileSync('mount', ['--bind', elsewhere, at]);
      try {
        await expect(mkdirPlugin.delete(volume())).rejects.toThrow(`something is mounted at ${at}: unmount it first`);
        expect(await readFile(path.join(elsewhere, 'precious'), 'utf8')).toBe('data');
      } finally {
        execFileSync('umount', [at]);
      }
      await mkdirPlugin.delete(volume());
      expect(await readdir(path.join(dir, 'volumes'))).toEqual([]);
    },
  );

  it('VL-296: whoever looks finds it as it is to be, or not at all: an agent may be killed at any moment', async () => {
    const mkdirPlugin = await plugin('mkdir');
    const HostPath = path.join(dir, 'volumes', ID);
    const seen = new Set<number>();
    for (let round = 0; round < 50; round++) {
      let isMade = false;
      const made = mkdirPlugin.create(volume({ mode: '0777' })).then(() => (isMade = true));
      while (!isMade) {
        const there = statSync(HostPath, { throwIfNoEntry: false });
        if (there) seen.add(there.mode & 0o7777);
        await new Promise(setImmediate);
      }
      await made;
      await mkdirPlugin.delete(volume());
    }
    expect([...seen]).toEqual([0o777]);
    await mkdir(path.join(dir, 'volumes', `.${ID}.new`, 'half'), { recursive: true });
    await mkdirPlugin.create(volume());
    expect(await readdir(path.join(dir, 'volumes'), { recursive: true })).toEqual([ID]);
  });

  it('VL-296: makes a directory of the volume’s ID, 0700 unless it is told otherwise, once', async () => {
    const mkdirPlugin = await plugin('mkdir');
    expect(mkdirPlugin.version).toBe('0.0.1');
    const HostPath = path.join(dir, 'volumes', ID);
    expect(await mkdirPlugin.create(volume())).toEqual({ HostPath, CapacityBytes: 0 });
    expect((await stat(HostPath)).mode & 0o7777).toBe(0o700);
    await writeFile(path.join(HostPath, 'kept'), 'x');
    await mkdirPlugin.create(volume({ mode: '0777' }));
    expect(await readdir(HostPath)).toEqual(['kept']);
    expect((await stat(HostPath)).mode & 0o7777).toBe(0o700);
    await mkdirPlugin.delete(volume());
    await mkdirPlugin.delete(volume());
    expect(await readdir(path.join(dir, 'volumes'))).toEqual([]);
    await mkdirPlugin.create(
      volume({ mode: '0777', uid: String(process.getuid?.()), gid: String(process.getgid?.()) }),
    );
    expect((await stat(HostPath)).mode & 0o7777).toBe(0o777);
  });

  it.each([
    [{ size: '1' }, 'unknown mkdir parameter: "size"'],
    [{ mode: '0998' }, 'invalid value for "mode": "0998"'],
    [{ uid: 'root' }, 'invalid value for "uid": "root"'],
  ])('VL-296: %j is an error, and nothing is made', async (parameters, error) => {
    await expect((await plugin('mkdir')).create(volume(parameters))).rejects.toThrow(error);
    expect(await readdir(dir)).toEqual([]);
  });
});

describe('plugins that somebody installed', () => {
  it('VL-295: programs of the directory that say a version of themselves, and nothing else', async () => {
    await installed('good', 'echo \'{"version":"1.2"}\'');
    await installed('silent', 'true');
    await installed('broken', 'echo no; exit 1');
    await installed('plain', 'echo \'{"version":"1"}\'', 0o644);
    await installed('mkdir', 'echo \'{"version":"9"}\'');
    await mkdir(path.join(dir, 'plugins', 'directory'));
    expect([...(await found())].map(([id, { version }]) => [id, version])).toEqual([
      ['mkdir', '0.0.1'],
      ['good', '1.2'],
    ]);
  });

  it('VL-295: told in the environment what to do, and nothing of the agent’s own', async () => {
    await installed(
      'disk',
      `env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD= | sort > "$DHV_PLUGIN_DIR/../$1.env"
case "$1" in
  fingerprint) echo '{"version":"1"}' ;;
  create) echo "{\\"path\\":\\"/disks/$DHV_VOLUME_ID\\",\\"bytes\\":7}" ;;
esac`,
    );
    const disk = await plugin('disk');
    expect(await disk.create(volume({ a: 'b' }))).toEqual({ HostPath: `/disks/${ID}`, CapacityBytes: 7 });
    await disk.delete(volume());
    const said = async (operation: string) =>
      (await readFile(path.join(dir, `${operation}.env`), 'utf8')).trim().split('\n');
    const place = [`DHV_PLUGIN_DIR=${dir}/plugins`, `DHV_VOLUMES_DIR=${dir}/volumes`, `PATH=${process.env['PATH']}`];
    expect(await said('fingerprint')).toEqual(['DHV_OPERATION=fingerprint', ...place]);
    expect(new Set(await said('create'))).toEqual(
      new Set([
        ...place,
        'DHV_OPERATION=create',
        'DHV_NAMESPACE=team',
        'DHV_VOLUME_NAME=data',
        `DHV_VOLUME_ID=${ID}`,
        `DHV_NODE_ID=${fixtures.uuid(0xa)}`,
        'DHV_NODE_POOL=gpu',
        'DHV_CAPACITY_MIN_BYTES=1',
        'DHV_CAPACITY_MAX_BYTES=2',
        'DHV_PARAMETERS={"a":"b"}',
      ]),
    );
    expect(await said('delete')).toEqual(expect.arrayContaining(['DHV_OPERATION=delete', 'DHV_CREATED_PATH=/made']));
  });

  it('VL-290: what an agent that was killed had begun is ended, with all it has started, before anything is asked', async () => {
    await installed(
      'disk',
      `[ "$1" = fingerprint ] && echo '{"version":"1"}' && exit 0
sleep 600 &
echo $! > "$DHV_PLUGIN_DIR/../begun"
wait`,
    );
    const pipe = path.join(dir, 'begun');
    execFileSync('mkfifo', [pipe]);
    const begun = (await plugin('disk')).create(volume());
    const failed = expect(begun).rejects.toThrow('plugin "disk" failed to create: exit code null');
    const helper = Number(await readFile(pipe, 'utf8'));
    const elsewhere = { volumesDir: path.join(dir, 'others'), pluginDir: path.join(dir, 'plugins') };
    await findHostVolumePlugins(elsewhere, silentLogger);
    expect(identityOf(helper)).toBeDefined();
    expect([...(await found()).keys()]).toContain('disk');
    await failed;
    await expect.poll(() => identityOf(helper)).toBeUndefined();
  });

  it.each([
    ['echo \'{"error":"no space"}\'; exit 1', 'plugin "disk" failed to create: no space'],
    ['echo \'{"error":"no space"}\'', 'plugin "disk" failed to create: no space'],
    ['echo oops >&2; exit 3', 'plugin "disk" failed to create: oops'],
    ['exit 3', 'plugin "disk" failed to create: exit code 3'],
    ['echo nonsense', 'plugin "disk" failed to create: its answer is no JSON object'],
    ['echo \'{"path":"relative"}\'', 'plugin "disk" does not say where the volume is'],
    ['echo \'{"path":"/p","bytes":-1}\'', 'plugin "disk" does not say how large the volume is'],
  ])('VL-295: what %j answers', async (line, error) => {
    await installed('disk', `[ "$1" = fingerprint ] && echo '{"version":"1"}' && exit 0\n${line}`);
    await expect((await plugin('disk')).create(volume())).rejects.toThrow(error);
  });
});
