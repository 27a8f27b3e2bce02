import { existsSync } from 'node:fs';
import { z } from 'zod';
import { below, pathName } from '../../paths/path-name.js';
import { PROGRAM_PATH, type RunProgram, whyItFailed } from '../program.transport.js';

/** How long a plugin may take before it is killed (NW-45). */
export const PLUGIN_TIMEOUT_MS = 30_000;

export type CniCommand = 'ADD' | 'CHECK' | 'DEL';

/** A plugin's part of a configuration: `type` names the program, the rest is the plugin's own. */
export interface PluginConfig {
  readonly type: string;
  readonly capabilities?: Readonly<Record<string, boolean>> | undefined;
  /** How addresses are given: by a plugin that this one calls. */
  readonly ipam?: { readonly type?: string | undefined; readonly [member: string]: unknown } | undefined;
  readonly [member: string]: unknown;
}

/** What plugins answer to ADD: the members that Waybill looks at; the others are passed on as they are. */
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

/** What all calls for one allocation have in common. */
export interface Attachment {
  /** ID of the allocation (NW-57). */
  readonly containerId: string;
  /** Path of its namespace; empty: it is gone. */
  readonly netns: string;
  readonly ifName: string;
  /** `KEY=value` with `;` between (NW-58). */
  readonly args: string;
}

/** A plugin said no, or nothing that makes sense. */
export class CniError extends Error {
  override readonly name = 'CniError';
}

/** Calls plugins by the protocol of CNI: a configuration on stdin, the rest in the environment (NW-59). Stateless. */
export class CniPlugins {
  constructor(
    private readonly run: RunProgram,
    /** Where the programs of plugins are; the first one found counts (NW-51). */
    private readonly directories: readonly string[],
  ) {}

  /** Before anything is changed that needs it, and the plugin for its addresses. @throws CniError */
  refuseMissing({ type, ipam }: PluginConfig): void {
    this.find(type);
    if (ipam?.type) this.find(ipam.type);
  }

  /** @returns the result of ADD, which for other commands is empty @throws CniError */
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
    if (end.isLate) throw failed(config.type, command, `no answer within ${PLUGIN_TIMEOUT_MS / 1_000} s: killed`);
    if (end.code !== 0) throw failed(config.type, command, failureIn(end.stdout) ?? whyItFailed(end));
    if (command !== 'ADD') return {};
    const result = RESULT.safeParse(parsed(end.stdout));
    if (!result.success) throw failed(config.type, command, `its answer is no result of CNI: ${beginning(end.stdout)}`);
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

const failed = (type: string, command: CniCommand, why: string): CniError =>
  new CniError(`plugin type="${type}" failed (${command.toLowerCase()}): ${why}`);

/** What a plugin says of its failure by the protocol; undefined: it does not speak it. */
function failureIn(stdout: string): string | undefined {
  const { data } = FAILURE.safeParse(parsed(stdout));
  return data && (data.details ? `${data.msg}: ${data.details}` : data.msg);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MAX_SHOWN = 100;
const beginning = (text: string): string => {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return JSON.stringify(line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line);
};
