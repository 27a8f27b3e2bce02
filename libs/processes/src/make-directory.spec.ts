import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CannotCreateDirectoryError, makeDirectory, makeDirectorySync, type DirectoryWish } from './make-directory.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'waybill-directory-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const FORMS: readonly (readonly [string, (dir: string, wish?: DirectoryWish) => Promise<void>])[] = [
  ['makeDirectory', makeDirectory],
  ['makeDirectorySync', async (dir, wish) => makeDirectorySync(dir, wish)],
];

describe.each(FORMS)('%s', (_name, make) => {
  it('makes what is missing above, with the mode, and leaves what is there', async () => {
    const dir = path.join(root, 'a', 'b', 'c');
    await make(dir, { mode: 0o700 });
    writeFileSync(path.join(dir, 'kept'), 'yes');
    await make(dir, { mode: 0o755 });
    expect(statSync(path.join(root, 'a')).mode & 0o777).toBe(0o700);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(readFileSync(path.join(dir, 'kept'), 'utf8')).toBe('yes');
  });

  it('may be asked by many at once', async () => {
    const dir = path.join(root, 'a', 'b', 'c');
    await Promise.all(Array.from({ length: 8 }, () => make(dir)));
    expect(existsSync(dir)).toBe(true);
  });

  it('leaves the refusals of the file system as they are', async () => {
    const file = path.join(root, 'file');
    writeFileSync(file, '');
    await expect(make(file)).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(make(path.join(file, 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it.skipIf(process.platform !== 'linux').each(['/proc/nope', '/proc/nope/a/b', '/proc/self/nope'])(
    'answers for %s instead of trying for ever (needs Linux)',
    async (dir) => {
      const refused = await make(dir, { otherwise: 'choose another data directory' }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(CannotCreateDirectoryError);
      expect((refused as Error).message).toBe(
        `cannot create ${dir.replace(/\/a\/b$/, '')}: choose another data directory`,
      );
    },
  );
});
