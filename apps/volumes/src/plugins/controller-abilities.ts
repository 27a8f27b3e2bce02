import type { CSIControllerInfo, CSIPlugin } from '@waybill/model';
import type { Tables } from '@waybill/state';

/** Whether a controller of the plugin reports this ability. */
export const controllerCan = (plugin: CSIPlugin, ability: keyof CSIControllerInfo): boolean =>
  Object.values(plugin.Controllers).some(({ ControllerInfo }) => ControllerInfo?.[ability] === true);

/**
 * Whether a controller of the plugin reported this ability when its machine was last connected. A plugin whose machines
 * are all down has no record any more (VL-187), but the machines still have its report. Cost: O(nodes), once for a step
 * of a release whose plugin is gone.
 * @returns undefined if no machine ever reported such a controller
 */
export function controllersLastCould(
  { nodes }: Pick<Tables, 'nodes'>,
  pluginId: string,
  ability: keyof CSIControllerInfo,
): boolean | undefined {
  const said = [...nodes.all()].flatMap((node) => node.CSIControllerPlugins?.[pluginId]?.ControllerInfo ?? []);
  return said.length === 0 ? undefined : said.some((info) => info[ability]);
}
