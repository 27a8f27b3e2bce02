import { existsSync } from 'node:fs';
import { z } from 'zod';
import { below, pathName } from '../../paths/path-name.js';
import { PROGRAM_PATH, type RunProgram, failureText } from '../program.transport.js';

/** The time in milliseconds after which a plugin is killed (NW-45). */
export const PLUGIN_TIMEOUT_MS = 30_000;

export type CniCommand = 'ADD' | 'CHECK' | 'DEL';

/** PluginConfig is a plugin's part of a configuration: `type` names the program, the rest belongs to the plugin. */
export interface PluginConfig {
  readonly type: string;
  readonly capabilities?: Readonly<Record<string, boolean>> | undefined;
  /** The plugin for addresses, which this plugin calls. */
  readonly ipam?: { readonly type?: string | undefined; readonly [member: string]: unknown } | undefined;
  readonly [member: string]: unknown;
}

/** The answer to ADD: the members that Waybill reads. Other members are passed on unchanged. */
const RESULT = z.looseObject({
  interfaces: z.array(z.looseObject({ name: z.string(), sandbox: z.string().optional() })).nullish(),
  ips: z.array(z.looseObject({ address: z.string(), interface: z.number().nullish() })).nullish(),
  dns: z
    .looseObject({
      nameservers: z.array(z.string()).nullish(),
      search: z.array(z.string()).nullish(),
      options: z.array(z.string()).nullish(),
    })
    .nullish(),
});
export type CniResult = z.infer<typeof RESULT>;

const FAILURE = z.looseObject({ code: z.number(), msg: z.string(), details: z.string().optional() });

/** Attachment holds the parameters that all calls for one allocation have in common. */
export interface Attachment {
  /** ID of the allocation (NW-57). */
  readonly containerId: string;
  /** The path of its namespace; empty if the namespace is gone. */
  readonly netns: string;
  readonly ifName: string;
  /** `KEY=value` pairs, separated by `;` (NW-58). */
  readonly args: string;
}

/** CniError says that a plugin failed or that its answer is invalid. */
export class CniError extends Error {
  override readonly name = 'CniError';
}

/**
 * CniPlugins calls plugins by the protocol of CNI: the configuration on stdin, the rest in the environment (NW-59).
 * Stateless.
 */
export class CniPlugins {
  constructor(
    private readonly run: RunProgram,
    /** The directories of plugins. The first one that has a plugin counts (NW-51). */
    private readonly directories: readonly string[],
  ) {}

  /** Refuses a missing plugin, or a missing plugin for its addresses, before anything is changed. @throws CniError */
  refuseMissing({ type, ipam }: PluginConfig): void {
    this.find(type);
    if (ipam?.type) this.find(ipam.type);
  }

  /** Calls a plugin. @returns the result of ADD; it is empty for other commands @throws CniError */
  async call(command: CniCommand, config: PluginConfig, to: Attachment): Promise<CniResult> {
    const end = await this.run({
      file: this.find(config.type),
      args: [],
      env: {
        PATH: PROGRAM_PATH,
        CNI_COMMAND: command,
        CNI_CONTAINERID: to.containerId,
        CNI_NETNS: to.netns,
        CNI_IFNAME: to.ifName,
        CNI_ARGS: to.args,
        CNI_PATH: this.directories.join(':'),
      },
      stdin: JSON.stringify(config),
      timeoutMs: PLUGIN_TIMEOUT_MS,
    });
    if (end.isLate) throw cniError(config.type, command, `no answer within ${PLUGIN_TIMEOUT_MS / 1_000} s: killed`);
    if (end.code !== 0) throw cniError(config.type, command, failureIn(end.stdout) ?? failureText(end));
    if (command !== 'ADD') return {};
    const result = RESULT.safeParse(parseResult(end.stdout));
    if (!result.success)
      throw cniError(config.type, command, `its answer is no result of CNI: ${shortenText(end.stdout)}`);
    return result.data;
  }

  private find(type: string): string {
    const name = pathName(type, 'the CNI plugin');
    const file = this.directories.map((dir) => below(dir, name)).find((candidate) => existsSync(candidate));
    if (file === undefined)
      throw new CniError(`failed to find plugin "${type}" in path [${this.directories.join(' ')}]`);
    return file;
  }
}

const cniError = (type: string, command: CniCommand, why: string): CniError =>
  new CniError(`plugin type="${type}" failed (${command.toLowerCase()}): ${why}`);

/** Returns the plugin's failure message, or undefined if the output does not follow the protocol. */
function failureIn(stdout: string): string | undefined {
  const { data } = FAILURE.safeParse(parseResult(stdout));
  return data && (data.details ? `${data.msg}: ${data.details}` : data.msg);
}

function parseResult(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MAX_SHOWN = 100;
const shortenText = (text: string): string => {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return JSON.stringify(line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line);
};
