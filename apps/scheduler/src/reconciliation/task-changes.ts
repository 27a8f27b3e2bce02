import { isDeepStrictEqual } from 'node:util';
import {
  findTaskGroup,
  type Job,
  type NetworkResource,
  serviceIdentitiesOf,
  type Task,
  type TaskGroup,
} from '@waybill/model';

/** Whether running allocations of this group must be replaced to become those of the new job version (SC-249). */
export function needsReplacement(group: string, before: Job, after: Job): boolean {
  const [old, now] = [findTaskGroup(before, group), findTaskGroup(after, group)];
  if (!old || !now) return true;
  if (groupChanged(old, now)) return true;
  const [oldVersion, newVersion] = [
    { group: old, job: before },
    { group: now, job: after },
  ];
  return now.Tasks.some((task) => taskReplaced(task, oldVersion, newVersion));
}

function groupChanged(old: TaskGroup, now: TaskGroup): boolean {
  const shape = (g: TaskGroup): unknown => ({
    disk: g.EphemeralDisk,
    volumes: g.Volumes ?? {},
    networks: (g.Networks ?? []).map(networkShape),
    consul: g.Consul?.Namespace ?? '',
    renderTemplates: g.RestartPolicy.RenderTemplates,
  });
  return old.Tasks.length !== now.Tasks.length || !isDeepStrictEqual(shape(old), shape(now));
}

/** A group in one version of its job. */
interface GroupVersion {
  readonly group: TaskGroup;
  readonly job: Job;
}

function taskReplaced(now: Task, before: GroupVersion, after: GroupVersion): boolean {
  const old = before.group.Tasks.find((task) => task.Name === now.Name);
  return !old || !isDeepStrictEqual(taskShape(old, before.group, before.job), taskShape(now, after.group, after.job));
}

/** The properties of a task that cannot change while it runs; the others change in place (SC-250). */
function taskShape(task: Task, group: TaskGroup, job: Job): unknown {
  const { Resources: r } = task;
  return {
    driver: task.Driver,
    user: task.User,
    config: task.Config,
    env: task.Env ?? {},
    artifacts: task.Artifacts ?? [],
    vault: task.Vault,
    secrets: task.Secrets ?? [],
    consul: task.Consul,
    templates: task.Templates ?? [],
    csi: task.CSIPluginConfig,
    mounts: task.VolumeMounts ?? [],
    meta: { ...job.Meta, ...group.Meta, ...task.Meta },
    networks: (r.Networks ?? []).map(networkShape),
    resources: [r.CPU, r.Cores, r.MemoryMB, r.MemoryMaxMB, r.SecretsMB, r.Devices ?? [], r.NUMA],
    identities: [task.Identity, task.Identities ?? []],
    // The name of a service is a part of its token, which the task has in a file.
    serviceIdentities: serviceIdentitiesOf(group, task.Name).map(({ service, identity }) => [service.Name, identity]),
    logDisabled: task.LogConfig.Disabled,
    renderTemplates: task.RestartPolicy.RenderTemplates,
  };
}

/** The network without the values of dynamic ports, which the scheduler assigns. */
function networkShape(network: NetworkResource): unknown {
  return {
    mode: network.Mode || 'host',
    mbits: network.MBits,
    hostname: network.Hostname,
    dns: network.DNS,
    cni: network.CNI,
    reserved: (network.ReservedPorts ?? []).map((p) => [p.Label, p.Value, p.To, p.HostNetwork]),
    dynamic: (network.DynamicPorts ?? []).map((p) => [p.Label, p.To, p.HostNetwork]),
  };
}
