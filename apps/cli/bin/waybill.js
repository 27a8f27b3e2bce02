#!/usr/bin/env node
// Plain JavaScript, so that the command exists right after an install; the program itself is built by `npm run build`.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { BUNDLED, isBundleNewest } from '../bundle-age.mjs';

// Newer Node versions keep compiled code between runs; the oldest supported one does not.
module.enableCompileCache?.();

const built = new URL('../dist/main.js', import.meta.url);

if (isBundleNewest()) {
  await import(BUNDLED.href);
} else if (existsSync(built)) {
  await import(built.href);
} else {
  process.stderr.write('waybill is not built yet: run "npm run build" first.\n');
  process.exitCode = 1;
}
