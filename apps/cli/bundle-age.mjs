import { statSync } from 'node:fs';

/** What the bundle is made of, besides packages. */
const PARTS = ['apps/cli', 'libs/model', 'libs/certificates', 'libs/jobspec', 'libs/gotemplate', 'libs/websocket'];

/** Where it is, and by which file it starts. */
export const BUNDLE = new URL('dist/bundle/', import.meta.url);
export const BUNDLED = new URL('waybill.js', BUNDLE);

/** @param {URL} file */
const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** One that is older than a part of it would be the program of yesterday. */
export function isBundleNewest() {
  const madeMs = changedMs(BUNDLED);
  return PARTS.every((part) => changedMs(new URL(`../../${part}/dist/.tsbuildinfo`, import.meta.url)) < madeMs);
}
