import { describe, expect, it } from 'vitest';
import { pathViolations } from './agent-paths.mjs';

const found = (text: string, file = 'apps/agent/src/tasks/logs/x.ts') => pathViolations(file, text);

describe('paths of the agent', () => {
  it.each([
    'const file = path.join(dir, name);',
    'path.resolve(root, task)',
    'path.posix.join(a, b)',
    "import { dirname, join } from 'node:path';",
    "import {\n  resolve,\n} from 'path';",
    "const file = dir + '/' + name;",
    'const file = root + path.sep + name;',
    'const name = given as PathName;',
    'statSync(file, { throwIfNoEntry: false });',
  ])('are made in one place: %j', (text) => {
    expect(found(text)).toHaveLength(1);
    expect(found(text, 'apps/agent/src/paths/path-name.ts')).toEqual([]);
    expect(found(text, 'apps/agent/src/tasks/logs/x.spec.ts')).toEqual([]);
    expect(found(text, 'apps/cli/src/x.ts')).toEqual([]);
  });

  it.each([
    'below(dir, pathName(name))',
    'path.dirname(file)',
    "names.join('/')",
    "import { basename } from 'node:path';",
    'file.startsWith(dir + path.sep)',
  ])('leaves %j alone', (text) => {
    expect(found(text)).toEqual([]);
  });
});
