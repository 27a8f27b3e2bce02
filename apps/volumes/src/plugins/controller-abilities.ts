import type { CSIControllerInfo, CSIPlugin } from '@waybill/model';
import type { Tables } from '@waybill/state';

/** Whether a controller of the plugin says that it can do this. */
export const controllerCan = (plugin: CSIPlugin, ability: keyof CSIControllerInfo): boolean =>
  Object.values(plugin.Controllers).some(({ ControllerInfo }) => ControllerInfo?.[ability] === true);

/**
 * Whether a controller of a plugin could do this when its machine was heard last: a plugin whose machines are all down has
 * no record any more (VL-187), but they still show its report. Cost: over all nodes, once for a step of a release whose
 * plugin is gone.
 * @returns undefined: no machine has heard of such a controller
 */
export function controllersLastCould(
  { nodes }: Pick<Tables, 'nodes'>,
  pluginId: string,
  ability: keyof CSIControllerInfo,
): boolean | undefined {
  const said = [...nodes.all()].flatMap((node) => node.CSIControllerPlugins?.[pluginId]?.ControllerInfo ?? []);
  return said.length === 0 ? undefined : said.some((info) => info[ability]);
}
