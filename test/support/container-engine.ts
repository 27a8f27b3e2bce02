import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import Docker from 'dockerode';
import { create } from 'tar';

const SHELLS = ['/usr/bin/busybox', '/bin/busybox'];
const PROGRAMS =
  'sh cat echo env head id kill ls sleep tail test touch true wc seq dd stat tr cp grep httpd mkdir nc sed'.split(' ');

/** Where a real engine is looked for. */
export const ENDPOINT =
  process.env['WAYBILL_TEST_DOCKER_HOST'] ?? process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock';

export const connect = (): Docker =>
  ENDPOINT.startsWith('unix://')
    ? new Docker({ socketPath: ENDPOINT.slice('unix://'.length) })
    : new Docker({ host: new URL(ENDPOINT).hostname, port: Number(new URL(ENDPOINT).port) });

/** Why tests with an engine cannot run here; undefined: they can. */
export async function whyNoEngine(): Promise<string | undefined> {
  if (!SHELLS.some((file) => existsSync(file))) return 'needs a static busybox';
  return connect()
    .ping()
    .then(
      () => undefined,
      () => `needs a container engine at ${ENDPOINT}`,
    );
}

/** What an image has besides a shell. */
export interface ImageContent {
  /** Shell scripts in /bin, by name. */
  readonly scripts?: Readonly<Record<string, string>>;
  /** Instructions as in a Dockerfile, such as `CMD ["/bin/server"]`. */
  readonly changes?: string;
}

/** The files of an image with a shell and little else, made of this machine's busybox, as an archive. */
export async function imageFiles(scripts: Readonly<Record<string, string>> = {}): Promise<Buffer> {
  const busybox = SHELLS.find((file) => existsSync(file));
  if (!busybox) throw new Error('no busybox');
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-image-'));
  try {
    for (const at of ['bin', 'etc', 'tmp']) mkdirSync(path.join(dir, at));
    copyFileSync(busybox, path.join(dir, 'bin/busybox'));
    for (const program of PROGRAMS) symlinkSync('busybox', path.join(dir, 'bin', program));
    for (const [script, text] of Object.entries(scripts)) {
      const file = path.join(dir, 'bin', script);
      writeFileSync(file, `#!/bin/sh\n${text}\n`);
      chmodSync(file, 0o755);
    }
    const archive = path.join(dir, 'image.tar');
    await create({ cwd: dir, file: archive }, ['bin', 'etc', 'tmp']);
    return readFileSync(archive);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Makes an image of these files: no registry is needed. */
export async function makeImage(
  engine: Docker,
  name: string,
  { scripts = {}, changes = '' }: ImageContent = {},
): Promise<void> {
  const [repo, tag = 'latest'] = name.split(':');
  const files = Readable.from(await imageFiles(scripts), { objectMode: false });
  const answer = await engine.importImage(files, { repo, tag, ...(changes !== '' && { changes }) });
  answer.resume();
  await finished(answer as NodeJS.ReadableStream);
}
