import type { Logger } from '@waybill/telemetry';
import type { Logger as TypeOrmLogger } from 'typeorm';

/** Most characters of a statement in the log. A failed batch would otherwise be a line of megabytes. */
export const MAX_LOGGED_STATEMENT_CHARS = 300;

/** Returns the start of a statement and the number of omitted characters. */
export function shortenStatement(statement: string): string {
  const more = statement.length - MAX_LOGGED_STATEMENT_CHARS;
  return more <= 0 ? statement : `${statement.slice(0, MAX_LOGGED_STATEMENT_CHARS)}… (${more} characters more)`;
}

/** Writes TypeORM's log lines to ours: shortened, and without parameters, which may contain secrets. */
export class StatementLogger implements TypeOrmLogger {
  constructor(private readonly logger: Logger) {}

  logQuery(query: string): void {
    this.logger.trace('sql', { query: shortenStatement(query) });
  }

  logQueryError(error: string | Error, query: string): void {
    const reason = shortenStatement(error instanceof Error ? error.message : error);
    this.logger.error('sql statement failed', { reason, query: shortenStatement(query) });
  }

  logQuerySlow(timeMs: number, query: string): void {
    this.logger.warn('slow sql statement', { timeMs, query: shortenStatement(query) });
  }

  logSchemaBuild(message: string): void {
    this.logger.debug(message);
  }

  logMigration(message: string): void {
    this.logger.debug(message);
  }

  log(level: 'log' | 'info' | 'warn', message: unknown): void {
    this.logger[level === 'warn' ? 'warn' : 'debug'](shortenStatement(String(message)));
  }
}
