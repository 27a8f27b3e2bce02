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

/** Whether the bundle is there and every package was last built before it. */
export function isNewest(bundled: URL): boolean {
  const madeMs = changedMs(bundled);
  const packages = ['apps/', 'libs/'].flatMap((group) =>
    readdirSync(new URL(group, ROOT)).map((name) => new URL(`${group}${name}/dist/.tsbuildinfo`, ROOT)),
  );
  return madeMs > 0 && packages.every((buildInfo) => changedMs(buildInfo) < madeMs);
}

/** 0 where there is no such file. */
const changedMs = (file: URL): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
