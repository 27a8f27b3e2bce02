import type { CSIControllerInfo, CSIPlugin } from '@waybill/model';

/** Whether a controller of the plugin says that it can do this. */
export const controllerCan = (plugin: CSIPlugin, ability: keyof CSIControllerInfo): boolean =>
  Object.values(plugin.Controllers).some(({ ControllerInfo }) => ControllerInfo?.[ability] === true);
