import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MODULE = fileURLToPath(new URL('../go-plugin', import.meta.url));
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/waybill-go-plugin', import.meta.url));
const COMPILERS = ['go', '/usr/local/go/bin/go'];
const BUILD_TIMEOUT_MS = 120_000;

export type GoPlugin = { readonly file: string } | { readonly whyNot: string };

/** Builds the plugin on the public plugin library, once per state of its source. It says why that is not possible. */
export async function buildGoPlugin(): Promise<GoPlugin> {
  const source = ['go.mod', 'go.sum', 'driver/main.go'].map((file) => readFileSync(path.join(MODULE, file)));
  const file = path.join(CACHE, createHash('sha256').update(Buffer.concat(source)).digest('hex').slice(0, 16));
  if (existsSync(file)) return { file };
  const go = await compiler();
  if (go === undefined) return { whyNot: 'needs Go' };
  mkdirSync(CACHE, { recursive: true });
  try {
    await run(go, ['build', '-o', file, './driver'], { cwd: MODULE, timeout: BUILD_TIMEOUT_MS });
    return { file };
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').at(-1) : '';
    return { whyNot: `cannot be built: ${said || 'not within two minutes'}` };
  }
}

async function compiler(): Promise<string | undefined> {
  for (const go of COMPILERS) {
    const found = await run(go, ['version']).then(
      () => true,
      () => false,
    );
    if (found) return go;
  }
  return undefined;
}
