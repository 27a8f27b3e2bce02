import { type CSIPlugin, isRefusal } from '@waybill/model';
import type { Call, CsiCall } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import { failing, VolumeStepError } from '../commands/errors.js';
import { LostInTheMiddleError, type MachineCalls, NoPathError } from './machine-calls.js';
import { PluginTurns } from './plugin-turns.js';

/** Begins the text of errors that another attempt may not meet (VL-100). Programs go by the code `retryable`. */
export const RETRYABLE_PREFIX = 'CSI client error (retryable): ';

export interface PluginCallsDeps {
  readonly tables: Pick<Tables, 'csi_plugins' | 'nodes'>;
  readonly machines: MachineCalls;
}

/**
 * Calls storage plugins through the machines that run them (section 3.12). One instance for each term. Calls that
 * change something at a provider are made one at a time for each plugin, by this holder (VL-131). A slow call delays
 * only calls of the same plugin (VL-132).
 */
export class PluginCalls {
  private readonly turns = new PluginTurns();

  constructor(private readonly deps: PluginCallsDeps) {}

  /** Ends the term: calls that wait for their turn fail (VL-131). */
  close(): void {
    this.turns.close();
  }

  /**
   * Calls a controller of the plugin (VL-126 to VL-131, VL-133). @throws VolumeStepError, NotHolderError if the term
   * ended before anything was sent
   */
  async controller<Req extends { readonly PluginID: string }, Res>(
    { call, prefix, inTurn }: CsiCall<Req, Res>,
    request: Req,
  ): Promise<Res> {
    const ask = () => this.firstInstance(call, request);
    return await (inTurn ? this.turns.runInTurn(request.PluginID, ask) : ask()).catch(failing(prefix));
  }

  /** Calls the plugin on one machine (VL-133). @throws VolumeStepError if the machine refused or cannot be reached */
  async node<Req, Res>({ call, prefix }: CsiCall<Req, Res>, nodeId: string, request: Req): Promise<Res> {
    return await this.deps.machines.callMachine(call, nodeId, request).catch(failing(prefix));
  }

  /** Tries the instances in the order of their node IDs, so that the same instance is preferred (VL-127). */
  private async firstInstance<Req extends { readonly PluginID: string }, Res>(
    call: Call<Req, Res>,
    request: Req,
  ): Promise<Res> {
    let last: unknown;
    for (const nodeId of this.controllersOf(request.PluginID)) {
      try {
        return await this.deps.machines.callMachine(call, nodeId, request);
      } catch (error) {
        if (!mayDifferElsewhere(error)) throw error;
        last =
          error instanceof LostInTheMiddleError
            ? new VolumeStepError(RETRYABLE_PREFIX + error.message, 'retryable')
            : error;
      }
    }
    throw last;
  }

  /** The connected machines with a controller of the plugin, at least one (VL-126, VL-128). @throws VolumeStepError */
  private controllersOf(pluginId: string): string[] {
    const plugin = this.deps.tables.csi_plugins.get(pluginId);
    if (!plugin) throw new VolumeStepError(`plugin missing: ${pluginId}`);
    const instances = Object.keys(plugin.Controllers).toSorted();
    if (instances.length === 0)
      throw new VolumeStepError(`failed to find instances of controller plugin "${pluginId}"`);
    const usable = instances.filter((nodeId) => this.whyUnusable(plugin, nodeId) === undefined);
    if (usable.length > 0) return usable;
    const reasons = instances.map((nodeId) => this.whyUnusable(plugin, nodeId)).join(', ');
    throw new VolumeStepError(`failed to find clients running controller plugin "${pluginId}": ${reasons}`);
  }

  private whyUnusable(plugin: CSIPlugin, nodeId: string): string | undefined {
    const instance = plugin.Controllers[nodeId];
    const node = this.deps.tables.nodes.get(nodeId);
    if (!instance?.Healthy) return `plugin instance "${instance?.AllocID ?? ''}" is not healthy`;
    if (!node) return `cannot find node "${nodeId}" for plugin instance "${instance.AllocID}"`;
    if (node.Status !== 'ready') return `node "${nodeId}" for plugin instance "${instance.AllocID}" is not ready`;
    return undefined;
  }
}

/** Whether another instance of the plugin may not meet the error (VL-127). */
const mayDifferElsewhere = (error: unknown): boolean =>
  error instanceof NoPathError ||
  error instanceof LostInTheMiddleError ||
  isRefusal(error, 'retryable') ||
  isRefusal(error, 'not-found');
