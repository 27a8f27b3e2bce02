import type { LoggerService } from '@nestjs/common';
import type { Logger } from '@waybill/telemetry';

/** Writes Nest's own lines in our format. Its start-up messages are debug lines. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}
  log(message: unknown, ...rest: unknown[]): void {
    this.logger.debug(String(message), contextOf(rest));
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.logger.warn(String(message), contextOf(rest));
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.logger.error(String(message), contextOf(rest));
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.logger.trace(String(message), contextOf(rest));
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.logger.trace(String(message), contextOf(rest));
  }
}

const contextOf = (rest: unknown[]): Record<string, unknown> => (rest.length > 0 ? { nest: rest.at(-1) } : {});
