import { describe, expect, it } from 'vitest';
import { MAX_LOG_LINE_CHARS, PluginLog } from './plugin-log.js';

describe('the log of a plugin', () => {
  it('PG-8: lines of JSON have their level and fields, others the level of their prefix, else debug', () => {
    const log = new PluginLog();
    expect(
      log.take('{"@level":"warn","@message":"low","@module":"m","@timestamp":"t","left":3}\n[ERROR] bad\n\nplain\n{"a'),
    ).toEqual([
      { level: 'warn', message: 'low', fields: { left: 3 } },
      { level: 'error', message: '[ERROR] bad', fields: {} },
      { level: 'debug', message: 'plain', fields: {} },
    ]);
    expect(log.take('":1}\n')).toEqual([{ level: 'debug', message: '{"a":1}', fields: {} }]);
  });

  it('PG-8: from a panic on, all is an error; a level that an object inherits is none', () => {
    const log = new PluginLog();
    expect(log.take('{"@level":"constructor","@message":"m"}\n')[0]!.level).toBe('debug');
    expect(log.take('panic: no\n\ngoroutine 1\n').map(({ level }) => level)).toEqual(['error', 'error']);
  });

  it('PG-8: a line above 64 KiB is cut, and one without end does not grow', () => {
    const log = new PluginLog();
    for (let i = 0; i < 100; i++) log.take('a'.repeat(4_096));
    expect(log.take('\nb\n').map(({ message }) => message.length)).toEqual([MAX_LOG_LINE_CHARS, 1]);
  });
});
