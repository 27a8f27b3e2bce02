import { statSync } from 'node:fs';

/** What the bundle is made of, besides packages. */
const PARTS = ['apps/cli', 'libs/model', 'libs/certificates', 'libs/jobspec', 'libs/gotemplate', 'libs/websocket'];

/** Where it is, and by which file it starts. */
export const BUNDLE = new URL('dist/bundle/', import.meta.url);
export const BUNDLED = new URL('waybill.js', BUNDLE);

/** Files in a part's `dist/` whose times say when `tsc -b` and scripts/transpile.mjs last wrote there. */
const STAMPS = ['.tsbuildinfo', '.transpiled'];

/** @param {URL} file */
const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Whether the bundle is newer than each of its parts. An older bundle would be an earlier program. */
export function isBundleNewest() {
  const madeMs = changedMs(BUNDLED);
  return PARTS.every((part) =>
    STAMPS.every((stamp) => changedMs(new URL(`../../${part}/dist/${stamp}`, import.meta.url)) < madeMs),
  );
}
