import { NS_PER_MS } from '@waybill/model/clock';
import { parseDuration } from '@waybill/model/duration';
import type { Command } from 'commander';
import { FlagFailure } from '../failure.js';
import type { Flag, FlagKind } from './flag.js';

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Parses a boolean of a flag or an environment variable. Returns undefined for any other text. */
export function booleanOf(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** Parses the value of a flag. @throws FlagFailure (CL-112) */
export function parseFlagValue(flag: Flag, text: string): unknown {
  const bad = (why: string) => new FlagFailure(`invalid value "${text}" for flag -${flag.name}: ${why}`);
  switch (flag.kind) {
    case 'switch': {
      const value = booleanOf(text);
      if (value !== undefined) return value;
      throw new FlagFailure(`invalid boolean value "${text}" for -${flag.name}: parse error`);
    }
    case 'integer':
      if (!/^[+-]?\d{1,15}$/.test(text)) throw bad('parse error');
      return Number(text);
    case 'duration': {
      const ns = parseDuration(text);
      if (ns === undefined || /^[+-]/.test(text)) throw bad('parse error');
      return ns / NS_PER_MS;
    }
    case 'text':
    case 'list':
    default:
      return text;
  }
}

/** The given flags of a command, by name and type. Asking for a flag that the command does not have is a bug. */
export class ParsedFlags {
  private readonly kinds: ReadonlyMap<string, FlagKind>;
  private readonly values = new Map<string, unknown>();

  constructor(flags: readonly Flag[], command: Command) {
    this.kinds = new Map(flags.map((flag) => [flag.name, flag.kind]));
    for (const option of command.options) {
      const value: unknown = command.getOptionValue(option.attributeName());
      if (value !== undefined) this.values.set(option.name(), value);
    }
  }

  /** Whether the command has such a flag. */
  has(name: string): boolean {
    return this.kinds.has(name);
  }

  on(name: string): boolean {
    return this.flagValue(name, 'switch') === true;
  }

  given(name: string): boolean {
    return this.kinds.has(name) && this.values.has(name);
  }

  /** Returns the text of a flag. An empty value counts as absent (CL-121). */
  text(name: string): string | undefined {
    const value = this.flagValue(name, 'text');
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  list(name: string): readonly string[] {
    const value = this.flagValue(name, 'list');
    return Array.isArray(value) ? value.map(String) : [];
  }

  integer(name: string): number | undefined {
    const value = this.flagValue(name, 'integer');
    return typeof value === 'number' ? value : undefined;
  }

  durationMs(name: string): number | undefined {
    const value = this.flagValue(name, 'duration');
    return typeof value === 'number' ? value : undefined;
  }

  private flagValue(name: string, kind: FlagKind): unknown {
    if (this.kinds.get(name) !== kind) throw new TypeError(`the command has no ${kind} flag -${name}`);
    return this.values.get(name);
  }
}
