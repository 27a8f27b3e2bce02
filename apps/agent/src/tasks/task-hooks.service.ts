import { ApiSocketHook, type ApiSocketHookDependencies } from './hooks/api-socket.hook.js';
import { ArtifactHook, type ArtifactOptions } from './hooks/artifact.hook.js';
import { CsiPluginHook, type CsiPluginHookDependencies } from './hooks/csi-plugin.hook.js';
import { DevicesHook, type DevicesHookDependencies } from './hooks/devices.hook.js';
import { DispatchPayloadHook } from './hooks/dispatch-payload.hook.js';
import { IdentityHook, type IdentityHookDependencies } from './hooks/identity.hook.js';
import { LoginHook, type LoginHookDependencies } from './hooks/login.hook.js';
import type { TaskHook } from './task-hook.js';
import { TemplateHook, type TemplateHookDependencies } from './hooks/template.hook.js';
import { VolumesHook, type VolumesHookDependencies } from './hooks/volumes.hook.js';

export interface TaskHookParts {
  /** Absent if this machine gives its tasks no tokens. */
  readonly identities?: IdentityHookDependencies;
  /** Absent if this machine logs its tasks in nowhere. */
  readonly logins?: LoginHookDependencies;
  /** Absent if this machine gives its tasks no access to the API. */
  readonly apiSockets?: ApiSocketHookDependencies;
  /** Absent if this machine runs no storage plugins. */
  readonly csiPlugins?: CsiPluginHookDependencies;
  readonly devices: DevicesHookDependencies;
  readonly volumes: VolumesHookDependencies;
  readonly artifacts: ArtifactOptions;
  readonly templates: TemplateHookDependencies;
}

/**
 * Returns the hooks of every task in the order in which they run (AG-102). Later hooks may use the results of earlier
 * ones. A new hook needs one file in hooks/ and one line here. The directory of the task exists before all of them.
 */
export const taskHooks = ({
  identities,
  logins,
  apiSockets,
  csiPlugins,
  devices,
  volumes,
  artifacts,
  templates,
}: TaskHookParts): TaskHook[] => [
  ...(identities ? [new IdentityHook(identities)] : []), // writes and renews identity tokens (AU-156 to AU-161)
  ...(logins ? [new LoginHook('vault', logins), new LoginHook('consul', logins)] : []), // gives tasks tokens of Vault and Consul (AU-164 to AU-168)
  ...(apiSockets ? [new ApiSocketHook(apiSockets)] : []), // opens the task's API socket (AU-211)
  new DispatchPayloadHook(), // writes the payload of a dispatch (AG-291)
  ...(csiPlugins ? [new CsiPluginHook(csiPlugins)] : []), // prepares the directories and the endpoint of a storage plugin (VL-204, VL-205)
  new DevicesHook(devices), // reserves the devices of the task (PG-97)
  new VolumesHook(volumes), // adds the mounts of volumes (VL-225, VL-281)
  new ArtifactHook(artifacts), // downloads artifacts (AG-290)
  new TemplateHook(templates), // renders templates (AG-292, AG-293)
];
