import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { AgentConfig } from '@waybill/jobspec';
import { CommandFailure } from '../failure.js';
import { explained } from '../jobs/hcl-text.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

/** The settings of `agent`, from flags or files. */
export type AgentFlags = Pick<ParsedFlags, 'on' | 'given' | 'text' | 'integer' | 'list'>;

/** Merged configuration files: later files win, and the machine's metadata is combined (CL-922). */
export interface LoadedConfig extends AgentConfig {
  /** The files in reading order. */
  readonly files: readonly string[];
}

export const NO_CONFIG: LoadedConfig = { files: [], flags: {}, meta: {}, plugins: {}, idle: [] };

/**
 * @param paths files, or directories whose `.hcl` and `.json` files are read in the order of their names @throws
 * CommandFailure
 */
export async function loadAgentConfig(paths: readonly string[]): Promise<LoadedConfig> {
  let loaded = NO_CONFIG;
  for (const given of paths)
    try {
      for (const file of await filesAt(given)) loaded = joined(loaded, file, await parsed(file));
    } catch (error) {
      throw new CommandFailure(`Error loading configuration from ${given}: ${explained(error)}`);
    }
  return loaded;
}

async function filesAt(given: string): Promise<string[]> {
  if (!(await stat(given)).isDirectory()) return [given];
  const names = (await readdir(given)).filter((name) => /\.(hcl|json)$/.test(name));
  return names.toSorted().map((name) => path.join(given, name));
}

async function parsed(file: string): Promise<AgentConfig> {
  const text = await readFile(file, 'utf8');
  return (await import('@waybill/jobspec')).parseAgentConfig({ name: file, text });
}

const joined = (one: LoadedConfig, file: string, next: AgentConfig): LoadedConfig => ({
  files: [...one.files, file],
  flags: { ...one.flags, ...next.flags },
  meta: { ...one.meta, ...next.meta },
  plugins: joinedPlugins(one.plugins, next.plugins),
  idle: [...new Set([...one.idle, ...next.idle])].toSorted(),
});

/** Of a block in several files, a later one replaces what it gives. */
const joinedPlugins = (one: AgentConfig['plugins'], next: AgentConfig['plugins']): AgentConfig['plugins'] => ({
  ...one,
  ...Object.fromEntries(Object.entries(next).map(([name, block]) => [name, { ...one[name], ...block }])),
});

/** Combines flags and files: a flag precedes the value in the files. */
export class ConfiguredFlags implements AgentFlags {
  /** @param flags the flags on the command line, or undefined for none */
  constructor(
    private readonly flags: AgentFlags | undefined,
    private readonly config: LoadedConfig,
  ) {}

  given(name: string): boolean {
    return this.flags?.given(name) === true || this.config.flags[name] !== undefined;
  }

  on(name: string): boolean {
    return this.flags?.given(name) === true ? this.flags.on(name) : this.config.flags[name] === true;
  }

  text(name: string): string | undefined {
    const value = name === 'plugins' ? this.plugins : this.config.flags[name];
    return this.flags?.text(name) ?? (value === undefined ? undefined : String(value));
  }

  /** The blocks of plugins as JSON, which is one setting. */
  private get plugins(): string | undefined {
    const { plugins } = this.config;
    return Object.keys(plugins).length === 0 ? undefined : JSON.stringify(plugins);
  }

  integer(name: string): number | undefined {
    const value = this.config.flags[name];
    return this.flags?.integer(name) ?? (typeof value === 'number' ? value : undefined);
  }

  /** Returns the values of the files, then those of the flags, so that the flags win. */
  list(name: string): readonly string[] {
    const meta = name === 'meta' ? Object.entries(this.config.meta).map(([key, value]) => `${key}=${value}`) : [];
    return [...meta, ...(this.flags?.list(name) ?? [])];
  }
}
