import { type CSIPlugin, errorText } from '@waybill/model';
import type { Call, CsiCall } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import { failing, VolumeStepError } from '../commands/errors.js';
import { LostInTheMiddleError, type MachineCalls, NO_PATH } from './machine-calls.js';
import { PluginTurns } from './plugin-turns.js';

/** Begins what another time may not meet (VL-100). */
export const RETRYABLE = 'CSI client error (retryable): ';
/** Of errors with these in them another instance may know nothing (VL-127). */
const NEXT_INSTANCE = [RETRYABLE, 'Unknown node', NO_PATH];

export interface PluginCallsDeps {
  readonly tables: Pick<Tables, 'csi_plugins' | 'nodes'>;
  readonly machines: MachineCalls;
}

/**
 * Calls to storage plugins, through the machines that run them (section 3.12). One per term: what changes something at a
 * provider is done one at a time for each plugin, by this holder (VL-131). A slow call ties up nothing but its plugin
 * (VL-132).
 */
export class PluginCalls {
  private readonly turns = new PluginTurns();

  constructor(private readonly deps: PluginCallsDeps) {}

  /** The term is over: who waits for a turn is told so (VL-131). */
  close(): void {
    this.turns.close();
  }

  /** VL-126 to VL-131, VL-133. @throws VolumeStepError, NotHolderError the term ended before anything was sent */
  async controller<Req extends { readonly PluginID: string }, Res>(
    { call, prefix, inTurn }: CsiCall<Req, Res>,
    request: Req,
  ): Promise<Res> {
    const ask = () => this.firstInstance(call, request);
    return await (inTurn ? this.turns.take(request.PluginID, ask) : ask()).catch(failing(prefix));
  }

  /** VL-133. @throws VolumeStepError with what the machine refused, or that there is no way to it */
  async node<Req, Res>({ call, prefix }: CsiCall<Req, Res>, nodeId: string, request: Req): Promise<Res> {
    return await this.deps.machines.ask(call, nodeId, request).catch(failing(prefix));
  }

  /** VL-127: in order of node IDs, so that the same instance is preferred. */
  private async firstInstance<Req extends { readonly PluginID: string }, Res>(
    call: Call<Req, Res>,
    request: Req,
  ): Promise<Res> {
    let last: unknown;
    for (const nodeId of this.controllersOf(request.PluginID)) {
      try {
        return await this.deps.machines.ask(call, nodeId, request);
      } catch (given) {
        const error = given instanceof LostInTheMiddleError ? new VolumeStepError(RETRYABLE + given.message) : given;
        if (!NEXT_INSTANCE.some((text) => errorText(error).includes(text))) throw error;
        last = error;
      }
    }
    throw last;
  }

  /** VL-126, VL-128: machines with a controller that can be asked; at least one. @throws VolumeStepError */
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
