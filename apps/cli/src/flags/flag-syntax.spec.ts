import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../command-line.js';
import { type CommandSpec, NO_ARGUMENTS } from '../command-spec.js';
import { FlagFailure } from '../failure.js';
import { asksForHelp, normaliseFlags } from './flag-syntax.js';

const spec: CommandSpec = {
  usage: '',
  description: '',
  flags: [
    { name: 'detach', kind: 'switch', help: '' },
    { name: 'no-shutdown-delay', kind: 'switch', help: '' },
    { name: 'n', kind: 'integer', help: '' },
    { name: 'topic', kind: 'list', help: '' },
    { name: 'timeout', kind: 'duration', help: '' },
    { name: 'check-index', kind: 'text', help: '' },
  ],
  takes: NO_ARGUMENTS,
  run: () => Promise.resolve(0),
};
const parse = (...given: string[]) => parseCommandLine(spec, 'test', given);
const message = (...given: string[]): string => {
  try {
    parse(...given);
  } catch (error) {
    if (error instanceof FlagFailure) return error.message;
    throw error;
  }
  return 'no failure';
};

describe('flags', () => {
  it('CL-110: one or two dashes, = or a word of its own', () => {
    for (const given of [['-n=5'], ['--n=5'], ['-n', '5'], ['--n', '5']])
      expect(parse(...given).flags.integer('n')).toBe(5);
  });

  it('CL-110: a switch takes a value only with =', () => {
    const { flags, args } = parse('-detach', 'false');
    expect(flags.on('detach')).toBe(true);
    expect(args).toEqual(['false']);
    for (const no of ['0', 'f', 'F', 'FALSE', 'false', 'False'])
      expect(parse(`-detach=${no}`).flags.on('detach')).toBe(false);
    for (const yes of ['1', 't', 'T', 'TRUE', 'true', 'True'])
      expect(parse(`-detach=${yes}`).flags.on('detach')).toBe(true);
  });

  it('CL-110: a name that begins with no- is not the opposite of another flag', () => {
    expect(parse().flags.on('no-shutdown-delay')).toBe(false);
    expect(parse('-no-shutdown-delay').flags.on('no-shutdown-delay')).toBe(true);
    expect(parse('-no-color').flags.on('no-color')).toBe(true);
  });

  it('CL-110: -- ends flags and a lone - is an argument', () => {
    expect(parse('-').args).toEqual(['-']);
    expect(parse('a', '--', '-detach').args).toEqual(['a', '-detach']);
    expect(parse('--', '-detach').flags.on('detach')).toBe(false);
  });

  it('CL-111: flags may follow arguments', () => {
    const { flags, args } = parse('web', '-detach', 'two');
    expect([flags.on('detach'), args]).toEqual([true, ['web', 'two']]);
  });

  it('a value may look like a flag', () => {
    expect(parse('-check-index', '-x').flags.text('check-index')).toBe('-x');
    expect(parse('-check-index=a=b').flags.text('check-index')).toBe('a=b');
  });

  it('CL-112: unknown, incomplete and wrong flags each have their text', () => {
    expect(message('-x')).toBe('flag provided but not defined: -x');
    expect(message('-n')).toBe('flag needs an argument: -n');
    expect(message('-n=v')).toMatch(/^invalid value "v" for flag -n: /);
    expect(message('-detach=v')).toMatch(/^invalid boolean value "v" for -detach: /);
  });

  it('CL-114: repeatable flags collect in order', () => {
    expect(parse('-topic', 'Job', '-topic=Node').flags.list('topic')).toEqual(['Job', 'Node']);
  });

  it('CL-115: durations', () => {
    const ms = (text: string) => parse(`-timeout=${text}`).flags.durationMs('timeout');
    expect([ms('90s'), ms('1h30m'), ms('1.5h'), ms('100ms'), ms('0')]).toEqual([90_000, 5_400_000, 5_400_000, 100, 0]);
    expect(message('-timeout=90')).toMatch(/^invalid value "90" for flag -timeout/);
  });

  it('CL-121: an empty value counts as not given', () => {
    expect(parse('-address', '').flags.text('address')).toBeUndefined();
  });

  it('CL-105: help is asked for before -- only', () => {
    expect(asksForHelp(['a', '--help'])).toBe(true);
    expect(asksForHelp(['-h'])).toBe(true);
    expect(asksForHelp(['--', '-help'])).toBe(false);
  });

  it('the rewritten form has each value joined to its flag', () => {
    expect(normaliseFlags(['-n', '5', 'x', '-detach'], spec.flags)).toEqual(['--n=5', 'x', '--detach=true']);
  });
});
