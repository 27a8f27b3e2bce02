import { Refusal } from '@waybill/model';
import { type ControllerListVolumesRequest, type ExternalVolumesResponse, CSI_CONTROLLER } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import { controllerCan } from './controller-abilities.js';
import type { PluginCalls } from './plugin-calls.js';

/** Lists disks at their provider, registered here or not (VL-200). Stateless. */
export class ExternalVolumes {
  constructor(
    private readonly tables: Pick<Tables, 'csi_plugins'>,
    private readonly calls: PluginCalls,
  ) {}

  /**
   * Lists one page. If a plugin sends more disks than requested, the rest is dropped. @throws Refusal, VolumeStepError
   */
  async list(page: ControllerListVolumesRequest): Promise<ExternalVolumesResponse> {
    const plugin = this.tables.csi_plugins.get(page.PluginID);
    if (!plugin) throw new Refusal('not-found', 'no such plugin');
    if (!controllerCan(plugin, 'SupportsListVolumes')) throw new Refusal('invalid', 'unimplemented for this plugin');
    const { Entries, NextToken } = await this.calls.controller(CSI_CONTROLLER.list, page);
    return { Volumes: page.MaxEntries > 0 ? Entries.slice(0, page.MaxEntries) : Entries, NextToken };
  }
}
