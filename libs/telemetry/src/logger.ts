import { pino } from 'pino';
import type { DestinationStream } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Structured logging: `log.info('lease taken', { role, epoch })`. An `error` field keeps message and stack. */
export interface Logger {
  trace(message: string, fields?: Record<string, unknown>): void;
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
  /** A logger that puts these fields on every line. */
  with(fields: Record<string, unknown>): Logger;
}

/** Never on a log line, at any depth down to three. */
export const REDACTED_KEYS = [
  'SecretID',
  'secretId',
  'NodeSecretID',
  'Authorization',
  'authorization',
  'X-Nomad-Token',
  'x-nomad-token',
  'password',
  'Secrets',
] as const;
const REDACT_PATHS = REDACTED_KEYS.flatMap((key) =>
  ['', '*.', '*.*.'].map((prefix) => (prefix === '' ? `["${key}"]` : `${prefix.slice(0, -1)}["${key}"]`)),
);

type PinoLike = Pick<ReturnType<typeof pino>, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'child'>;

class PinoLogger implements Logger {
  constructor(private readonly to: PinoLike) {}
  trace(message: string, fields: Record<string, unknown> = {}): void {
    this.to.trace(fields, message);
  }
  debug(message: string, fields: Record<string, unknown> = {}): void {
    this.to.debug(fields, message);
  }
  info(message: string, fields: Record<string, unknown> = {}): void {
    this.to.info(fields, message);
  }
  warn(message: string, fields: Record<string, unknown> = {}): void {
    this.to.warn(fields, message);
  }
  error(message: string, fields: Record<string, unknown> = {}): void {
    this.to.error(fields, message);
  }
  with(fields: Record<string, unknown>): Logger {
    return new PinoLogger(this.to.child(fields));
  }
}

export interface LoggerOptions {
  /** `json` for machines (default), `line` for people at a terminal. */
  readonly format?: 'json' | 'line';
  /** Where lines go; stdout by default. */
  readonly destination?: DestinationStream;
}

/** The logger of one service. Lines carry level, ISO time, service and message; secrets are redacted. */
export function createLogger(service: string, level: LogLevel = 'info', options: LoggerOptions = {}): Logger {
  const out = options.destination ?? { write: (line: string): unknown => process.stdout.write(line) };
  const destination =
    options.format === 'line' ? { write: (line: string): unknown => out.write(humanLine(line)) } : out;
  return new PinoLogger(
    pino(
      {
        level,
        base: { service },
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        serializers: { error: pino.stdSerializers.err },
        redact: { paths: REDACT_PATHS, censor: '[redacted]' },
      },
      destination,
    ),
  );
}

/** For tests, and for code run without a service. */
export const silentLogger: Logger = createLogger('silent', 'silent');

/** `10:42:07.318 warn  broker  message  key=value …` from a JSON line; a line that is no JSON stays as it is. */
export function humanLine(line: string): string {
  let fields: Record<string, unknown>;
  try {
    fields = Object.fromEntries(Object.entries(JSON.parse(line)));
  } catch {
    return line;
  }
  const { level, time, service, msg, error, ...rest } = fields;
  const clock = typeof time === 'string' ? time.slice(11, 23) : '';
  const extra = Object.entries(rest).map(([k, v]) => `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`);
  if (typeof error === 'object' && error !== null && 'message' in error) extra.push(`error=${String(error.message)}`);
  else if (error !== undefined) extra.push(`error=${typeof error === 'string' ? error : JSON.stringify(error)}`);
  return `${[clock, String(level).padEnd(5), String(service).padEnd(11), String(msg), ...extra].join(' ').trimEnd()}\n`;
}
