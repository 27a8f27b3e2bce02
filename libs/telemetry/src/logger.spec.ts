import { describe, expect, it } from 'vitest';
import { createLogger, REDACTED_KEYS, silentLogger } from './logger.js';

function collect(format: 'json' | 'line') {
  const lines: string[] = [];
  const logger = createLogger('api', 'info', { format, destination: { write: (l) => void lines.push(l) } });
  return { lines, logger };
}

describe('createLogger', () => {
  it('writes one JSON object per line, with service, level name and error text', () => {
    const { lines, logger } = collect('json');
    logger.debug('not shown');
    logger.with({ role: 'broker' }).warn('lease lost', { error: new Error('gone') });
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'warn',
      service: 'api',
      role: 'broker',
      msg: 'lease lost',
      error: { message: 'gone' },
    });
  });

  it.each(REDACTED_KEYS)('never writes the value of %s, three levels deep', (key) => {
    const { lines, logger } = collect('json');
    const secret = 'f00d-f00d';
    logger.info('x', { [key]: secret, a: { [key]: secret, b: { [key]: secret } } });
    expect(lines[0]).not.toContain(secret);
  });

  it('has a form for people: one line, time, level, service, message, fields', () => {
    const { lines, logger } = collect('line');
    logger.error('cannot write', { error: new Error('disk full'), index: 7 });
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} error api {9}cannot write .*index=7 error=disk full\n$/);
  });

  it('VL-5: secrets and mount flags are named and not shown, of a volume, of a request, and of what they are in', () => {
    const lines: string[] = [];
    const logger = createLogger('test', 'info', { destination: { write: (line) => void lines.push(line) } });
    const volume = { ID: 'data', Secrets: { key: 'hunter2' }, MountOptions: { MountFlags: ['password=hunter2'] } };
    logger.info('volume', volume);
    logger.info('request', { request: volume });
    logger.info('on the wire', { secrets: { key: 'hunter2' }, mount: { mount_flags: ['hunter2'] } });
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      expect(line).not.toContain('hunter2');
      expect(line).toContain('[REDACTED]');
    }
  });
});

it('the silent logger is whole when a test puts a method of its own in', () => {
  const said: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void said.push(message) };
  for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) logger[level](level);
  logger.with({ role: 'broker' }).warn('with');
  expect(said).toEqual(['error']);
});
