import { errorText } from '@waybill/model';
import { z } from 'zod';
import type { Attachment, CniPlugins, CniResult, PluginConfig } from './cni-plugins.transport.js';

const PLUGIN = z.looseObject({
  type: z.string().min(1),
  capabilities: z.record(z.string(), z.boolean()).optional(),
  ipam: z.looseObject({ type: z.string().optional() }).optional(),
});
const LIST = z.looseObject({
  cniVersion: z.string().default(''),
  name: z.string().min(1),
  disableCheck: z.boolean().optional(),
  plugins: z.array(PLUGIN).min(1),
});
/** The format of a file with a single plugin, which counts as a list of one (NW-60). */
const SINGLE = PLUGIN.extend({ cniVersion: z.string().default(''), name: z.string().min(1) });

/** NetworkList is a network as a list of plugins that are called one after the other. */
export interface NetworkList {
  readonly cniVersion: string;
  readonly name: string;
  readonly disableCheck?: boolean | undefined;
  readonly plugins: readonly PluginConfig[];
}

/** PortMapping is a port of the machine that leads into a namespace, in the terms of CNI (NW-57). */
export interface PortMapping {
  readonly hostPort: number;
  readonly containerPort: number;
  readonly protocol: 'tcp' | 'udp';
  /** The address; absent means all addresses of the machine. */
  readonly hostIP?: string;
}

/** Parses the configuration of a network. @throws Error with the reason why it is invalid */
export function parseNetworkList(text: string): NetworkList {
  const found: unknown = JSON.parse(text);
  if (typeof found !== 'object' || found === null) throw new Error('it is no object');
  if ('plugins' in found) {
    const { cniVersion, name, disableCheck, plugins } = LIST.parse(found);
    return { cniVersion, name, plugins, ...(disableCheck !== undefined && { disableCheck }) };
  }
  const single = SINGLE.parse(found);
  return { cniVersion: single.cniVersion, name: single.name, plugins: [single] };
}

/** NetworkCalls calls the plugins of one list for one allocation (NW-59). Stateless. */
export class NetworkCalls {
  constructor(
    private readonly plugins: CniPlugins,
    private readonly list: NetworkList,
    private readonly attachment: Attachment,
    private readonly portMappings: readonly PortMapping[],
  ) {}

  /**
   * Calls ADD in the order of the list.
   * @param step receives the result after each plugin; the next plugin waits for it
   * @throws CniError of the first failure; the plugins before it have done their part
   */
  async add(step: (result: CniResult) => Promise<void>): Promise<CniResult> {
    let result: CniResult | null = null;
    for (const plugin of this.list.plugins) {
      result = await this.plugins.call('ADD', this.configOf(plugin, result), this.attachment);
      await step(result);
    }
    return result ?? {};
  }

  /** Calls CHECK in the order of the list. @throws CniError of the first plugin that finds a difference */
  async check(result: CniResult): Promise<void> {
    for (const plugin of this.list.plugins)
      await this.plugins.call('CHECK', this.configOf(plugin, result), this.attachment);
  }

  /** Calls DEL in reverse order, for each plugin despite failures. @returns the error messages */
  async del(result: CniResult | null): Promise<string[]> {
    const errors: string[] = [];
    for (const plugin of this.list.plugins.toReversed())
      try {
        await this.plugins.call('DEL', this.configOf(plugin, result), this.attachment);
      } catch (error) {
        errors.push(errorText(error));
      }
    return errors;
  }

  private configOf(plugin: PluginConfig, prevResult: CniResult | null): PluginConfig {
    const { name, cniVersion } = this.list;
    const wantsPorts = plugin.capabilities?.['portMappings'] === true && this.portMappings.length > 0;
    return {
      ...plugin,
      name,
      cniVersion,
      ...(wantsPorts && { runtimeConfig: { portMappings: this.portMappings } }),
      ...(prevResult && { prevResult }),
    };
  }
}
