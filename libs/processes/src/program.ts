import { readdirSync, statSync } from 'node:fs';

const ROOT = new URL('../../../', import.meta.url);

/**
 * Loads a program: from the bundle that `npm run build` makes of all of them, where most of the time that finding and
 * opening two thousand modules takes is saved, or as it was compiled, where there is no bundle or something was built since.
 *
 * @param name of the program in the bundle (scripts/bundle.mjs)
 * @param compiled imports the same program from what was compiled
 */
export async function loadProgram<Exports>(name: string, compiled: () => Promise<Exports>): Promise<Exports> {
  const bundled = new URL(`dist/bundle/${name}.js`, ROOT);
  return isNewest(bundled) ? ((await import(bundled.href)) as Exports) : compiled();
}

/** Files in a package's `dist/` whose times say when `tsc -b` and scripts/transpile.mjs last wrote there. */
const STAMPS = ['.tsbuildinfo', '.transpiled'];

/** Whether the bundle exists and is newer than the last build of every package below `root`. */
export function isNewest(bundled: URL, root: URL = ROOT): boolean {
  const madeMs = changedMs(bundled);
  const stamps = ['apps/', 'libs/'].flatMap((group) =>
    readdirSync(new URL(group, root)).flatMap((name) =>
      STAMPS.map((stamp) => new URL(`${group}${name}/dist/${stamp}`, root)),
    ),
  );
  return madeMs > 0 && stamps.every((stamp) => changedMs(stamp) < madeMs);
}

/** 0 where there is no such file. */
const changedMs = (file: URL): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
