import { silentLogger, type Logger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { MAX_LOGGED_STATEMENT_CHARS, StatementLogger } from './statement-logger.js';

describe('StatementLogger', () => {
  it('cuts a failed statement short and leaves its parameters out', () => {
    const lines: unknown[] = [];
    const logger: Logger = Object.assign(Object.create(silentLogger), {
      error: (message: string, fields: unknown) => lines.push(message, fields),
    });
    new StatementLogger(logger).logQueryError(new Error('no'), 'x'.repeat(1_000_000));
    expect(JSON.stringify(lines).length).toBeLessThan(MAX_LOGGED_STATEMENT_CHARS + 200);
    expect(JSON.stringify(lines)).toContain('999700 characters more');
  });
});
