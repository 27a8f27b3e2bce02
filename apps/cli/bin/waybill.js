#!/usr/bin/env node
// Plain JavaScript, so that the command exists right after an install; the program itself is built by `npm run build`.
import { existsSync, statSync } from 'node:fs';
import module from 'node:module';

// Newer Node versions keep compiled code between runs; the oldest supported one does not.
module.enableCompileCache?.();

/** What the bundle is made of, besides packages. */
const PARTS = ['apps/cli', 'libs/model', 'libs/jobspec', 'libs/gotemplate', 'libs/websocket'];

const bundled = new URL('../dist/bundle/waybill.js', import.meta.url);
const built = new URL('../dist/main.js', import.meta.url);

const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** One that is older than a part of it would be the program of yesterday. */
function isBundleNewest() {
  const madeMs = changedMs(bundled);
  return PARTS.every((part) => changedMs(new URL(`../../../${part}/dist/.tsbuildinfo`, import.meta.url)) < madeMs);
}

if (isBundleNewest()) {
  await import(bundled.href);
} else if (existsSync(built)) {
  await import(built.href);
} else {
  process.stderr.write('waybill is not built yet: run "npm run build" first.\n');
  process.exitCode = 1;
}
