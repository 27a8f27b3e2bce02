import { ArtifactHook, type ArtifactOptions } from './artifact.hook.js';
import { DispatchPayloadHook } from './dispatch-payload.hook.js';
import type { TaskHook } from './task-hook.js';
import { TemplateHook, type TemplateHookDependencies } from './template.hook.js';

export interface TaskHookParts {
  /** What plugins and users of volumes get. */
  readonly volumes: readonly TaskHook[];
  readonly artifacts: ArtifactOptions;
  readonly templates: TemplateHookDependencies;
}

/** What a task finds when it starts, in the order in which it is made ready (AG-102): the later may use the earlier. */
export const taskHooks = ({ volumes, artifacts, templates }: TaskHookParts): TaskHook[] => [
  new DispatchPayloadHook(),
  ...volumes,
  new ArtifactHook(artifacts),
  new TemplateHook(templates),
];
