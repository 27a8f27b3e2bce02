import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { StartError } from '../driver.js';
import { carriedVariables, inTaskEnvironment } from './task-environment.js';

/** Returns the environment of a task that is started with these variables, without the shell's own. */
function environmentOf(env: Readonly<Record<string, string>>): Record<string, string> {
  const [file = '', ...args] = inTaskEnvironment('/', ['/usr/bin/env', '-0']);
  const output = execFileSync(file, args, { env: carriedVariables(env), encoding: 'utf8' });
  const pairs = output.split('\0').filter((pair) => pair !== '');
  const all = Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  for (const own of ['PWD', 'OLDPWD', 'SHLVL', '_']) if (!(own in env)) delete all[own];
  return all;
}

describe('the environment that a task is given', () => {
  it('AG-230: is what its variables say and nothing else, whatever stands in names and values', () => {
    const hostile = {
      'NOMAD_HOST_IP_a\nLD_PRELOAD': '/x.so',
      "NOMAD_HOST_IP_'; touch /x; '": "'; export LD_PRELOAD=/x.so; '",
      'NOMAD_META_$(id)': '$(id) `id` \\',
      '-u': '--',
      'a b': '\nLD_PRELOAD=/x.so\n',
      ünï: '\u2028',
      __proto__x: '1',
      IFS: '/',
      WAYBILL_TASK_ENV_0: 'eval',
      PLAIN: "it's",
    };
    expect(environmentOf(hostile)).toEqual(hostile);
  });

  it.each([
    ['', 'x'],
    ['LD_PRELOAD=/x.so', ''],
    ['=', 'x'],
    ['A\0B', 'x'],
    ['A', 'x\0LD_PRELOAD=/x.so'],
  ])('a variable named %j with the value %j ends the start, and is no other one', (name, value) => {
    expect(() => carriedVariables({ [name]: value })).toThrow(StartError);
  });
});
