#!/usr/bin/env node
// Plain JavaScript, so that the command exists right after an install; the program itself is built by `npm run build`.
import { existsSync } from 'node:fs';
import module from 'node:module';

// Newer Node versions keep compiled code between runs; the oldest supported one does not.
module.enableCompileCache?.();

const built = new URL('../dist/main.js', import.meta.url);
if (existsSync(built)) {
  await import(built.href);
} else {
  process.stderr.write('waybill is not built yet: run "npm run build" first.\n');
  process.exitCode = 1;
}
