import { builtinModules } from 'node:module';
import { describe, expect, it } from 'vitest';
import { cycleViolations, importsOf, isPure, MAY_IMPORT, referenceViolations, violations } from './layers.mjs';

const workspace = {
  browserDependencies: ['react'],
  runtimeDependencies: ['pg', '@nestjs/common', 'zod'],
  builtins: builtinModules,
  references: {
    'libs/state': ['libs/model'],
    'libs/journal': ['libs/state'],
    'apps/api': ['libs/model', 'libs/journal'],
  },
};
const breach = (file: string, text: string) => violations([{ file, text }], workspace).map((one) => one.message);

describe('the direction of dependencies', () => {
  it('lets a library import what lies below it and nothing above', () => {
    expect(breach('libs/state/src/a.ts', `import { Job } from '@waybill/model';`)).toEqual([]);
    expect(breach('libs/state/src/a.ts', `import { x } from '@waybill/journal';`)).toEqual([
      'imports @waybill/journal: libs/state must not import that lib',
    ]);
    expect(breach('libs/model/src/a.ts', `export * from '@waybill/state';`)).toHaveLength(1);
    expect(breach('libs/model/src/a.ts', `const m = await import('@waybill/state');`)).toHaveLength(1);
  });

  it('has no cycle in its table', () => {
    const reaches = (from: string, seen: string[]): void => {
      for (const target of MAY_IMPORT[from] ?? []) {
        const folder = `libs/${target}` in MAY_IMPORT ? `libs/${target}` : `apps/${target}`;
        expect(seen).not.toContain(folder);
        reaches(folder, [...seen, folder]);
      }
    };
    for (const owner of Object.keys(MAY_IMPORT)) reaches(owner, [owner]);
  });

  it('lets no app import an app, except the launcher', () => {
    expect(breach('apps/api/src/a.ts', `import type { B } from '@waybill/broker';`)).toEqual([
      'imports @waybill/broker: apps/api must not import that app',
    ]);
    expect(breach('apps/api/src/a.ts', `import { x } from '../../broker/src/x.js';`)[0]).toMatch(/outside apps\/api/);
    expect(MAY_IMPORT['apps/dev']).toContain('broker');
  });

  it('lets the pages import what is built into them, nothing of Node and no workspace package', () => {
    const file = 'apps/ui/src/a.tsx';
    expect(breach(file, `import { useState } from 'react'; import x from 'react/jsx-runtime';`)).toEqual([]);
    for (const name of ['pg', 'fs', 'node:fs', '@waybill/model'])
      expect(breach(file, `import { x } from '${name}';`)).not.toEqual([]);
    expect(breach('apps/api/src/a.ts', `import { useState } from 'react';`)).toHaveLength(1);
  });

  it('finds files that import each other in a circle, types too, each circle once', () => {
    const files = Object.entries({
      'libs/state/src/a.ts': `import type { B } from './sub/b.js'; import { d } from './d.js';`,
      'libs/state/src/sub/b.ts': `export { c } from '../c.js';`,
      'libs/state/src/c.ts': `const a = await import('./a.js');`,
      'libs/state/src/d.ts': `import { readFileSync } from 'node:fs';`,
      'libs/state/src/d.spec.ts': `import './d.js'; import './e.spec.js';`,
      'libs/state/src/e.spec.ts': `import './d.spec.js';`,
    }).map(([file, text]) => ({ file, text }));
    expect(cycleViolations(files)).toEqual([
      {
        file: 'libs/state/src/a.ts',
        message: 'is in a circle of imports with libs/state/src/c.ts, libs/state/src/sub/b.ts',
      },
    ]);
    expect(cycleViolations(files.filter(({ file }) => !file.endsWith('/c.ts')))).toEqual([]);
  });

  it('asks for the public surface and for a reference in tsconfig', () => {
    expect(breach('apps/api/src/a.ts', `import { x } from '@waybill/model/dist/x.js';`)[0]).toMatch(/only the package/);
    expect(breach('libs/journal/src/a.ts', `import { x } from '@waybill/model';`)[0]).toMatch(/no reference/);
  });

  it('keeps I/O out of pure files, in values and in types, and lets tests and shells have it', () => {
    const reads = `import { readFileSync } from 'node:fs';`;
    expect(breach('libs/state/src/a.ts', reads)[0]).toMatch(/pure file/);
    expect(breach('apps/api/src/blocking.ts', `import type { Pool } from 'pg';`)[0]).toMatch(/pure file/);
    expect(breach('apps/api/src/blocking.ts', `import { Injectable } from '@nestjs/common';`)[0]).toMatch(/pure file/);
    expect(breach('apps/api/src/main.ts', reads)).toEqual([]);
    expect(breach('apps/api/src/job.repository.ts', `import { Pool } from 'pg';`)).toEqual([]);
    expect(breach('libs/state/src/a.spec.ts', reads)).toEqual([]);
    expect(isPure('apps/agent/src/tasks/task-runner.ts')).toBe(true);
    expect(isPure('apps/agent/src/drivers/raw-exec/raw-exec-driver.ts')).toBe(false);
  });

  it('accepts only packages that production installs', () => {
    expect(breach('libs/model/src/a.ts', `import { z } from 'zod'; import path from 'node:path';`)).toEqual([]);
    expect(breach('libs/model/src/a.ts', `import { parse } from 'yaml';`)[0]).toMatch(/run-time dependency/);
    expect(breach('libs/model/src/a.spec.ts', `import { it } from 'vitest';`)).toEqual([]);
  });

  it('checks the references of tsconfig files against the table', () => {
    expect(referenceViolations({ 'libs/state': ['libs/model'] })).toEqual([]);
    expect(referenceViolations({ 'libs/state': ['libs/rpc'], 'libs/new': [] })).toHaveLength(2);
  });

  it('reads imports of every form and ignores text that looks like one', () => {
    const text = `import a, { type B } from 'one'; export { c } from 'two'; import 'three'; await import('four');
      // import x from 'five'
      const s = "import y from 'six'";`;
    expect(importsOf({ file: 'a.ts', text })).toEqual(['one', 'three', 'two', 'four']);
  });
});
