export type PluginLogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

export interface PluginLogLine {
  readonly level: PluginLogLevel;
  readonly message: string;
  /** The other members of a line in JSON. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Longer lines are cut (PG-8). */
export const MAX_LOG_LINE_CHARS = 64 * 1024;

const LEVELS: Readonly<Record<string, PluginLogLevel>> = {
  __proto__: null as never,
  trace: 'trace',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
};

/**
 * PluginLog reads what a plugin writes to its standard error, line by line (PG-8).
 *
 * States: calm → panicking. From a line that begins a panic on, all lines are errors. It holds at most one line.
 */
export class PluginLog {
  private rest = '';
  private isPanicking = false;

  /** Takes output. Returns the lines that are complete. */
  take(text: string): PluginLogLine[] {
    const lines = (this.rest + text).split('\n');
    this.rest = (lines.pop() ?? '').slice(0, MAX_LOG_LINE_CHARS);
    return lines.filter((line) => line.trim() !== '').map((line) => this.parsed(line.slice(0, MAX_LOG_LINE_CHARS)));
  }

  private parsed(line: string): PluginLogLine {
    if (/^(panic|fatal error): /.test(line)) this.isPanicking = true;
    if (this.isPanicking) return { level: 'error', message: line, fields: {} };
    return jsonLine(line) ?? { level: levelOf(line), message: line, fields: {} };
  }
}

const levelOf = (line: string): PluginLogLevel =>
  LEVELS[(/^\[(TRACE|DEBUG|INFO|WARN|ERROR)\]/.exec(line)?.[1] ?? '').toLowerCase()] ?? 'debug';

function jsonLine(line: string): PluginLogLine | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const {
      '@level': level,
      '@message': message,
      '@module': _,
      '@timestamp': __,
      ...fields
    } = JSON.parse(line) as Record<string, unknown>;
    if (typeof message !== 'string') return undefined;
    return { level: (typeof level === 'string' && LEVELS[level]) || 'debug', message, fields };
  } catch {
    return undefined;
  }
}
