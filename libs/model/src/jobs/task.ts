import type { WorkloadIdentity, ConsulBlock, RestartPolicy, ScalingPolicy } from './shared-blocks.js';
import type { Affinity, Constraint } from './placement-rules.js';
import type { Resources, TaskLifecycle } from '../nodes/resources.js';
import type { Service } from './service.js';

/** One process of a task group. The durations `KillTimeout` and `ShutdownDelay` are in nanoseconds. */
export interface Task {
  Name: string;
  Driver: string;
  User: string;
  /** Configuration for the driver: arbitrary JSON, kept exactly. */
  Config: Record<string, unknown> | null;
  Env: Record<string, string> | null;
  Services: Service[] | null;
  Vault: VaultBlock | null;
  Secrets: SecretBlock[] | null;
  Consul: ConsulBlock | null;
  Templates: Template[] | null;
  Constraints: Constraint[] | null;
  Affinities: Affinity[] | null;
  Resources: Resources;
  RestartPolicy: RestartPolicy;
  DispatchPayload: { File: string } | null;
  Lifecycle: TaskLifecycle | null;
  Meta: Record<string, string> | null;
  KillTimeout: number;
  KillSignal: string;
  LogConfig: LogConfig;
  Artifacts: TaskArtifact[] | null;
  Leader: boolean;
  ShutdownDelay: number;
  VolumeMounts: VolumeMount[] | null;
  ScalingPolicies: ScalingPolicy[] | null;
  Kind: string;
  CSIPluginConfig: CSIPluginConfig | null;
  Identity: WorkloadIdentity | null;
  Identities: WorkloadIdentity[] | null;
  Actions: TaskAction[] | null;
  Schedule: TaskSchedule | null;
}

export interface VaultBlock {
  Role: string;
  Namespace: string;
  Cluster: string;
  Env: boolean;
  DisableFile: boolean;
  ChangeMode: string;
  ChangeSignal: string;
  AllowTokenExpiration: boolean;
}

export interface SecretBlock {
  Name: string;
  Provider: string;
  Path: string;
  Config: Record<string, unknown> | null;
  Env: Record<string, string> | null;
}

/** `Splay`, `VaultGrace`, `Wait` and the script's `Timeout` are in nanoseconds. */
export interface Template {
  SourcePath: string;
  DestPath: string;
  EmbeddedTmpl: string;
  ChangeMode: string;
  ChangeSignal: string;
  ChangeScript: ChangeScript | null;
  Once: boolean;
  Splay: number;
  Perms: string;
  Uid: number | null;
  Gid: number | null;
  LeftDelim: string;
  RightDelim: string;
  Envvars: boolean;
  VaultGrace: number;
  Wait: { Min: number | null; Max: number | null } | null;
  ErrMissingKey: boolean;
}

export interface ChangeScript {
  Command: string;
  Args: string[] | null;
  Timeout: number;
  FailOnError: boolean;
  RunOnFirstRender: boolean;
}

export interface LogConfig {
  MaxFiles: number;
  MaxFileSizeMB: number;
  Disabled: boolean;
}

export interface TaskArtifact {
  GetterSource: string;
  GetterOptions: Record<string, string> | null;
  GetterHeaders: Record<string, string> | null;
  GetterMode: string;
  GetterInsecure: boolean;
  RelativeDest: string;
  Chown: boolean;
}

export interface VolumeMount {
  Volume: string;
  Destination: string;
  ReadOnly: boolean;
  PropagationMode: string;
  SELinuxLabel: string;
}

/** `HealthTimeout` is in nanoseconds. */
export interface CSIPluginConfig {
  ID: string;
  Type: string;
  MountDir: string;
  StagePublishBaseDir: string;
  HealthTimeout: number;
}

export interface TaskAction {
  Name: string;
  Command: string;
  Args: string[] | null;
}

export interface TaskSchedule {
  Cron: { Start: string; End: string; Timezone: string } | null;
}
