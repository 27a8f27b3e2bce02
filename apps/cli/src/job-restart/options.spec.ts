import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../command-line.js';
import { command } from '../commands/job-restart.js';
import { restartOptions } from './options.js';

function options(words: string[], canAsk = true) {
  return restartOptions(parseCommandLine(command, 'job restart', words).flags, canAsk);
}
const refusal = (words: string[], canAsk = true): string => {
  try {
    options(words, canAsk);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};
const NOT_INTERACTIVE = '"ask" cannot be used when terminal is not interactive';

describe('options of job restart', () => {
  it('what counts if nothing is said', () => {
    expect(options(['web'])).toMatchObject({ batchSize: { count: 1 }, batchWait: 0, onError: 'ask', yes: false });
  });

  it.each(['not-valid', '1.5', '1.5%', '15%10%', '-1', '', ' 1', '1 %'])('JR-103: -batch-size=%s', (value) => {
    expect(refusal([`-batch-size=${value}`])).toBe(
      `Invalid -batch-size value "${value}": batch size must be an integer or a percentage`,
    );
  });

  it('JR-104: zero and what is no integer any more', () => {
    for (const value of ['0', '0%', '000'])
      expect(refusal([`-batch-size=${value}`])).toBe(
        `Invalid -batch-size value "${value}": number value must be greater than zero`,
      );
    expect(refusal(['-batch-size=99999999999999999999'])).toMatch(/^Invalid -batch-size value "9{20}": /);
    expect(options(['-batch-size', '50%']).batchSize).toEqual({ percent: 50 });
    expect(options(['-batch-size', '7']).batchSize).toEqual({ count: 7 });
  });

  it('JR-105: a pause is "ask" or has a unit; a negative one is none', () => {
    expect(['10s', '1m30s', '0', '-5s'].map((value) => options([`-batch-wait=${value}`]).batchWait)).toEqual([
      10_000, 90_000, 0, 0,
    ]);
    expect(options(['-batch-wait=ASK']).batchWait).toBe('ask');
    for (const value of ['10', 'soon', '', '--5s'])
      expect(refusal([`-batch-wait=${value}`])).toMatch(new RegExp(`^Invalid -batch-wait value "${value}": .`));
  });

  it('JR-106: asking between batches needs a terminal, or -yes', () => {
    expect(refusal(['-batch-wait=ask', '-on-error=fail'], false)).toBe(
      `Invalid -batch-wait value "ask": ${NOT_INTERACTIVE}`,
    );
    expect(options(['-batch-wait=ask', '-yes'], false).batchWait).toBe('ask');
  });

  it('JR-107, JR-108: what to do about errors', () => {
    expect(refusal(['-on-error=x'])).toBe('Invalid -on-error value "x": valid options are "ask" and "fail"');
    for (const words of [[], ['-on-error=ask']])
      expect(refusal(words, false)).toBe(`Invalid -on-error value "ask": ${NOT_INTERACTIVE}`);
    expect(options(['-on-error=fail'], false).onError).toBe('fail');
    expect(options(['-yes'], false).onError).toBe('ask');
  });

  it('JR-109: what does not go together', () => {
    expect(refusal(['-all-tasks', '-task=x'])).toBe('The -all-tasks option cannot be used with -task');
    expect(refusal(['-reschedule', '-task=x'])).toBe('The -reschedule option cannot be used with -task');
    expect(refusal(['-reschedule', '-all-tasks'])).toBe('');
  });

  it('JR-110: equal groups and tasks count once', () => {
    const { groups, tasks } = options(['-group=a', '-group', 'a', '-task=t', '-task=t', '-task=u']);
    expect([[...groups], [...tasks]]).toEqual([['a'], ['t', 'u']]);
  });

  it('JR-111: batch size before batch wait before on-error before conflicts', () => {
    const wrong = ['-batch-size=x', '-batch-wait=x', '-on-error=x', '-all-tasks', '-task=t'];
    const seen: string[] = [];
    for (let i = 0; i < 4; i++) seen.push(refusal(wrong.slice(i)).split(' ').slice(0, 3).join(' '));
    expect(seen).toEqual([
      'Invalid -batch-size value',
      'Invalid -batch-wait value',
      'Invalid -on-error value',
      'The -all-tasks option',
    ]);
  });
});
