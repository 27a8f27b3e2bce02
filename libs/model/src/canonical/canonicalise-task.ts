import type { GroupScope } from './group-scope.js';
import type { RestartPolicy } from '../jobs/shared-blocks.js';
import { canonicaliseService } from './canonicalise-service.js';
import type { Task, TaskArtifact, Template } from '../jobs/task.js';
import { DEFAULT_AUDIENCE, DEFAULT_IDENTITY, isDefaultIdentity } from '../jobs/task-identities.js';
import type { Given } from '../encoding/wire-shape.js';

/** Applies the rules of a task that involve more than one field. `restart` is the group's complete policy. */
export function canonicaliseTask(scope: GroupScope, restart: RestartPolicy, task: Given<Task>): Given<Task> {
  const name = task.Name ?? '';
  return {
    ...task,
    ...splitIdentities(task),
    KillTimeout: task.KillTimeout === 0 ? undefined : task.KillTimeout,
    RestartPolicy: { ...restart, ...task.RestartPolicy },
    Resources: {
      ...task.Resources,
      CPU: task.Resources?.CPU ?? (task.Resources?.Cores === undefined ? undefined : 0),
    },
    Services: task.Services?.map((service) => canonicaliseService(scope, service, name)),
    Vault: task.Vault
      ? {
          ...task.Vault,
          Namespace: task.Vault.Namespace || scope.job.VaultNamespace,
          ChangeSignal: task.Vault.ChangeSignal?.toUpperCase(),
        }
      : undefined,
    Templates: task.Templates?.map(canonicaliseTemplate),
    Artifacts: task.Artifacts?.map(canonicaliseArtifact),
    ScalingPolicies: task.ScalingPolicies?.map((policy) => ({
      ...policy,
      Target: { Namespace: scope.namespace, Job: scope.jobId, Group: scope.group, Task: name },
    })),
    CSIPluginConfig: task.CSIPluginConfig
      ? { ...task.CSIPluginConfig, HealthTimeout: task.CSIPluginConfig.HealthTimeout || undefined }
      : undefined,
    // A schedule without its cron part is dropped (API-317).
    Schedule: task.Schedule?.Cron ? task.Schedule : undefined,
  };
}

/** Fills in the defaults of a template (API-308). */
function canonicaliseTemplate(template: Given<Template>): Given<Template> {
  const signal = template.ChangeSignal ?? (template.ChangeMode === 'signal' ? 'SIGHUP' : '');
  return { ...template, ChangeSignal: signal.toUpperCase() };
}

/** Fills in the defaults of an artifact (API-308). */
function canonicaliseArtifact(artifact: Given<TaskArtifact>): Given<TaskArtifact> {
  if (artifact.RelativeDest !== undefined || artifact.GetterMode !== 'file') return artifact;
  const path = (artifact.GetterSource ?? '').split('?')[0] ?? '';
  return { ...artifact, RelativeDest: `local/${path.slice(path.lastIndexOf('/') + 1)}` };
}

/**
 * Moves an identity with the default name from the list to `Identity` (API-312). A second one stays in the list, and
 * validation refuses it.
 */
function splitIdentities(task: Given<Task>): Pick<Given<Task>, 'Identity' | 'Identities'> {
  const identities = task.Identities ?? [];
  const moved = task.Identity ? undefined : identities.find((identity) => isDefaultIdentity(identity));
  const given = task.Identity ?? moved ?? {};
  return {
    Identity: {
      ...given,
      Name: DEFAULT_IDENTITY,
      Audience: [DEFAULT_AUDIENCE],
      ChangeSignal: given.ChangeSignal?.toUpperCase(),
    },
    Identities: identities
      .filter((identity) => identity !== moved)
      .map((identity) => ({ ...identity, ChangeSignal: identity.ChangeSignal?.toUpperCase() })),
  };
}
