import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { transpileChanged } from './transpile.mjs';

describe('transpileChanged', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'waybill-transpile-'));
    mkdirSync(path.join(folder, 'src/part'), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (file: string, text: string): void => writeFileSync(path.join(folder, file), text);
  const output = (file: string): string => readFileSync(path.join(folder, 'dist', file), 'utf8');

  it('writes JavaScript with a map to each source, and nothing for tests and declarations', async () => {
    write('src/part/a.ts', "import type { B } from './b.js';\nexport const a = (b: B): number => b.c;\n");
    write('src/a.spec.ts', 'export {};\n');
    write('src/d.d.ts', 'declare const d: string;\n');
    expect(await transpileChanged([folder])).toBe(1);
    expect(output('part/a.js')).toBe('export const a = (b) => b.c;\n//# sourceMappingURL=a.js.map\n');
    expect(JSON.parse(output('part/a.js.map'))).toMatchObject({ file: 'a.js', sources: ['../../src/part/a.ts'] });
    expect(['a.spec.js', 'd.d.js'].filter((file) => existsSync(path.join(folder, 'dist', file)))).toEqual([]);
  });

  it('keeps the types that dependency injection and entities need', async () => {
    write(
      'src/a.ts',
      "import { Log } from './log.js';\n@Injectable()\nexport class A {\n  constructor(readonly log: Log) {}\n}\n",
    );
    await transpileChanged([folder]);
    expect(output('a.js')).toMatch(/import \{ Log \} from "\.\/log\.js"/);
    expect(output('a.js')).toMatch(/"design:paramtypes", \[[^\]]*Log/);
  });

  it('writes only what changed, and the stamp before it', async () => {
    write('src/a.ts', 'export const a = 1;\n');
    write('src/b.ts', 'export const b = 1;\n');
    await transpileChanged([folder]);
    const stamp = path.join(folder, 'dist/.transpiled');
    utimesSync(stamp, new Date(), new Date('2020-01-01'));
    expect(await transpileChanged([folder])).toBe(0);
    expect(statSync(stamp).mtime).toEqual(new Date('2020-01-01'));
    write('src/a.ts', 'export const a = 2;\n');
    utimesSync(path.join(folder, 'src/a.ts'), new Date(), new Date(Date.now() + 3_600_000));
    expect(await transpileChanged([folder])).toBe(1);
    expect(output('a.js')).toContain('a = 2');
    expect(statSync(stamp).mtimeMs).toBeLessThanOrEqual(statSync(path.join(folder, 'dist/a.js')).mtimeMs);
    expect(statSync(stamp).mtime).not.toEqual(new Date('2020-01-01'));
  });

  it('names the file that is not TypeScript', async () => {
    write('src/broken.ts', 'export const a = ;\n');
    await expect(transpileChanged([folder])).rejects.toThrow(/cannot transpile .*src\/broken\.ts: /);
  });
});
