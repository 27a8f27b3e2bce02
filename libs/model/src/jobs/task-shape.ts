import type { ConsulBlock, RestartPolicy } from './shared-blocks.js';
import { NS_PER_SECOND } from '../time/clock.js';
import { identityShape } from './identity-shape.js';
import { affinityShape, constraintShape } from './placement-shape.js';
import type { TaskLifecycle } from '../nodes/resources.js';
import { resourcesShape } from '../nodes/resources-shape.js';
import { scalingShape } from './scaling-shape.js';
import { serviceShape } from './service-shape.js';
import type {
  ChangeScript,
  CSIPluginConfig,
  LogConfig,
  SecretBlock,
  Task,
  TaskAction,
  TaskArtifact,
  TaskSchedule,
  Template,
  VaultBlock,
  VolumeMount,
} from './task.js';
import {
  boolean,
  duration,
  filledString,
  freeform,
  int,
  list,
  map,
  object,
  optional,
  present,
  string,
  type Shape,
} from '../encoding/wire-shape.js';

export const consulShape: Shape<ConsulBlock> = {
  name: 'Consul',
  fields: { Namespace: string(), Cluster: string(), Partition: string() },
};

export const restartShape: Shape<RestartPolicy> = {
  name: 'RestartPolicy',
  fields: {
    Attempts: int(),
    Interval: duration(),
    Delay: duration(),
    Mode: string(),
    RenderTemplates: boolean(),
  },
};

const vaultShape: Shape<VaultBlock> = {
  name: 'Vault',
  fields: {
    Role: string(),
    Namespace: string(),
    Cluster: filledString('default'),
    Env: boolean(true),
    DisableFile: boolean(),
    ChangeMode: filledString('restart'),
    ChangeSignal: string('SIGHUP'),
    AllowTokenExpiration: boolean(),
  },
};

const secretShape: Shape<SecretBlock> = {
  name: 'Secret',
  fields: { Name: string(), Provider: string(), Path: string(), Config: freeform(), Env: map(string()) },
};

const scriptShape: Shape<ChangeScript> = {
  name: 'ChangeScript',
  fields: {
    Command: string(),
    Args: list(string()),
    Timeout: duration(5 * NS_PER_SECOND),
    FailOnError: boolean(),
    RunOnFirstRender: boolean(),
  },
};

const waitShape: Shape<NonNullable<Template['Wait']>> = {
  name: 'WaitConfig',
  fields: { Min: optional(duration()), Max: optional(duration()) },
};

const templateShape: Shape<Template> = {
  name: 'Template',
  fields: {
    SourcePath: string(),
    DestPath: string(),
    EmbeddedTmpl: string(),
    ChangeMode: string('restart'),
    ChangeSignal: string(),
    ChangeScript: object(scriptShape),
    Once: boolean(),
    Splay: duration(5 * NS_PER_SECOND),
    Perms: string('0644'),
    Uid: optional(int()),
    Gid: optional(int()),
    LeftDelim: string('{{'),
    RightDelim: string('}}'),
    Envvars: boolean(),
    VaultGrace: duration(),
    Wait: object(waitShape),
    ErrMissingKey: boolean(),
  },
};

const artifactShape: Shape<TaskArtifact> = {
  name: 'TaskArtifact',
  fields: {
    GetterSource: string(),
    GetterOptions: map(string()),
    GetterHeaders: map(string()),
    GetterMode: string('any'),
    GetterInsecure: boolean(),
    RelativeDest: string('local/'),
    Chown: boolean(),
  },
};

const mountShape: Shape<VolumeMount> = {
  name: 'VolumeMount',
  fields: {
    Volume: string(),
    Destination: string(),
    ReadOnly: boolean(),
    PropagationMode: string('private'),
    SELinuxLabel: string(),
  },
};

const pluginShape: Shape<CSIPluginConfig> = {
  name: 'TaskCSIPluginConfig',
  fields: {
    ID: string(),
    Type: string(),
    MountDir: filledString('/csi'),
    StagePublishBaseDir: filledString('/local/csi'),
    HealthTimeout: duration(30 * NS_PER_SECOND),
  },
};

const actionShape: Shape<TaskAction> = {
  name: 'Action',
  fields: { Name: string(), Command: string(), Args: list(string()) },
};

const cronShape: Shape<NonNullable<TaskSchedule['Cron']>> = {
  name: 'TaskScheduleCron',
  fields: { Start: string(), End: string(), Timezone: string() },
};

const scheduleShape: Shape<TaskSchedule> = { name: 'TaskSchedule', fields: { Cron: object(cronShape) } };

const lifecycleShape: Shape<TaskLifecycle> = {
  name: 'TaskLifecycleConfig',
  fields: { Hook: string(), Sidecar: boolean() },
};

const payloadFileShape: Shape<{ File: string }> = { name: 'DispatchPayloadConfig', fields: { File: string() } };

const logShape: Shape<LogConfig> = {
  name: 'LogConfig',
  fields: { MaxFiles: int(10), MaxFileSizeMB: int(10), Disabled: boolean() },
};

/** Defaults that depend on other fields, the group or the job are in canonicalise-task.ts. */
export const taskShape: Shape<Task> = {
  name: 'Task',
  fields: {
    Name: string(),
    Driver: string(),
    User: string(),
    Config: freeform(),
    Env: map(string()),
    Services: list(present(serviceShape)),
    Vault: object(vaultShape),
    Secrets: list(present(secretShape)),
    Consul: object(consulShape),
    Templates: list(present(templateShape)),
    Constraints: list(present(constraintShape)),
    Affinities: list(present(affinityShape)),
    Resources: present(resourcesShape),
    RestartPolicy: present(restartShape),
    DispatchPayload: object(payloadFileShape),
    Lifecycle: object(lifecycleShape),
    Meta: map(string()),
    KillTimeout: duration(5 * NS_PER_SECOND),
    KillSignal: string(),
    LogConfig: present(logShape),
    Artifacts: list(present(artifactShape)),
    Leader: boolean(),
    ShutdownDelay: duration(),
    VolumeMounts: list(present(mountShape)),
    ScalingPolicies: list(present(scalingShape)),
    Kind: string(),
    CSIPluginConfig: object(pluginShape),
    Identity: object(identityShape),
    Identities: list(present(identityShape)),
    Actions: list(present(actionShape)),
    Schedule: object(scheduleShape),
  },
};
