import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import { type LogFeed, processLog } from './log-feed.js';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The rank says how important a level is. A logger does not write lines below its own level. */
export const RANK: Readonly<Record<LogLevel, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
  silent: Infinity,
};

/** Structured logging: `log.info('lease taken', { role, epoch })`. An `error` field keeps message and stack. */
export interface Logger {
  trace(message: string, fields?: Record<string, unknown>): void;
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
  /** Returns a logger that adds these fields to every line. */
  with(fields: Record<string, unknown>): Logger;
}

/** The values of these keys never appear on a log line, down to a depth of three. */
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
  'secrets',
  'MountFlags',
  'mountFlags',
  'mount_flags',
] as const;
const REDACT_PATHS = REDACTED_KEYS.flatMap((key) =>
  ['', '*.', '*.*.'].map((prefix) => (prefix === '' ? `["${key}"]` : `${prefix.slice(0, -1)}["${key}"]`)),
);

type PinoLike = Pick<ReturnType<typeof pino>, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'child'>;
type LineLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** Says whether the output or a live listener wants lines of this level. */
type Wanted = (level: LineLevel) => boolean;

class PinoLogger implements Logger {
  constructor(
    private readonly to: PinoLike,
    private readonly wanted: Wanted,
  ) {}
  trace(message: string, fields?: Record<string, unknown>): void {
    this.write('trace', message, fields);
  }
  debug(message: string, fields?: Record<string, unknown>): void {
    this.write('debug', message, fields);
  }
  info(message: string, fields?: Record<string, unknown>): void {
    this.write('info', message, fields);
  }
  warn(message: string, fields?: Record<string, unknown>): void {
    this.write('warn', message, fields);
  }
  error(message: string, fields?: Record<string, unknown>): void {
    this.write('error', message, fields);
  }
  with(fields: Record<string, unknown>): Logger {
    return new PinoLogger(this.to.child(fields), this.wanted);
  }
  private write(level: LineLevel, message: string, fields: Record<string, unknown> = {}): void {
    if (this.wanted(level)) this.to[level](fields, message);
  }
}

export interface LoggerOptions {
  /** The format is `json` for machines (the default) or `line` for people at a terminal. */
  readonly format?: 'json' | 'line';
  /** The destination of the lines. The default is stdout. */
  readonly destination?: DestinationStream;
  /** The feed that also receives the lines. The default is the feed of this process, to which monitors listen. */
  readonly feed?: LogFeed;
}

/** Creates the logger of one service. Lines carry level, ISO time, service and message. The logger redacts secrets. */
export function createLogger(service: string, level: LogLevel = 'info', options: LoggerOptions = {}): Logger {
  const out = options.destination ?? { write: (line: string): unknown => process.stdout.write(line) };
  const { feed = processLog } = options;
  const own = RANK[level];
  const destination = {
    // With this member pino sets the level of each line here before it writes the line.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      if (this.lastLevel >= own) out.write(options.format === 'line' ? humanLine(line) : line);
      feed.offer(this.lastLevel, line, service);
    },
  };
  return new PinoLogger(
    pino(
      {
        level: 'trace',
        base: { service },
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        serializers: { error: pino.stdSerializers.err },
        redact: { paths: REDACT_PATHS, censor: '[REDACTED]' },
      },
      destination,
    ),
    (line) => RANK[line] >= Math.min(own, feed.lowest),
  );
}

const silent = createLogger('silent', 'silent');

/**
 * silentLogger is for tests and for code that runs without a service. Its methods are own properties, so a test can
 * spread the object and replace one of them.
 */
export const silentLogger: Logger = {
  trace: (message, fields) => silent.trace(message, fields),
  debug: (message, fields) => silent.debug(message, fields),
  info: (message, fields) => silent.info(message, fields),
  warn: (message, fields) => silent.warn(message, fields),
  error: (message, fields) => silent.error(message, fields),
  with: (fields) => silent.with(fields),
};

/**
 * Formats a JSON line as `10:42:07.318 warn  broker  message  key=value …`. It returns a line that is not JSON
 * unchanged.
 */
export function humanLine(line: string): string {
  const said = readLine(line);
  if (!said) return line;
  const { level, time, service, msg, fields } = said;
  return `${[time.slice(11, 23), level.padEnd(5), service.padEnd(11), msg, ...fields].join(' ').trimEnd()}\n`;
}

/**
 * Formats a line as `2026-08-04T10:42:07.318Z [WARN]  broker: message: key=value …`. Clients of the reference look for
 * this form in an agent's log. If a line has the field `part`, it replaces the service. A line that is not JSON comes
 * back unchanged.
 */
export function agentLine(line: string): string {
  const said = readLine(line);
  if (!said) return line;
  const { level, time, service, part, msg, fields } = said;
  const text = [`${part || service}: ${msg}`, ...(fields.length > 0 ? [fields.join(' ')] : [])].join(': ');
  return `${time} ${`[${level.toUpperCase()}]`.padEnd(LONGEST_LEVEL)} ${text}\n`;
}

const LONGEST_LEVEL = '[ERROR]'.length;

interface SaidLine {
  readonly level: string;
  readonly time: string;
  readonly service: string;
  /** The part of the service; "" if there is none. */
  readonly part: string;
  readonly msg: string;
  /** The fields as `key=value`. The error comes last. */
  readonly fields: readonly string[];
}

/** Reads a JSON line. The result is undefined if the line is not JSON. */
function readLine(line: string): SaidLine | undefined {
  let members: Record<string, unknown>;
  try {
    members = Object.fromEntries(Object.entries(JSON.parse(line)));
  } catch {
    return undefined;
  }
  const { level, time, service, part, msg, error, ...rest } = members;
  const extra = Object.entries(rest).map(([k, v]) => `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`);
  if (typeof error === 'object' && error !== null && 'message' in error) extra.push(`error=${String(error.message)}`);
  else if (error !== undefined) extra.push(`error=${typeof error === 'string' ? error : JSON.stringify(error)}`);
  return {
    level: String(level),
    time: typeof time === 'string' ? time : '',
    service: String(service),
    part: typeof part === 'string' ? part : '',
    msg: String(msg),
    fields: extra,
  };
}
