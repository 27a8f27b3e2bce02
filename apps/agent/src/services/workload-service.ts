import {
  type Allocation,
  type AllocNetworkStatus,
  findTaskGroup,
  type Job,
  type Node,
  portsOfNetwork,
  registrationId,
  type Service,
  type ServiceCheck,
} from '@waybill/model';
import type { RegisteredService } from '@waybill/rpc';
import { createHash } from 'node:crypto';
import type { DriverNetwork } from '../drivers/driver.js';
import { TaskEnv } from '../tasks/task-env.js';

/** WorkloadCheck is a check of a service, ready to run. */
export interface WorkloadCheck {
  readonly id: string;
  readonly service: string;
  /** The name of its task; empty for a check of the group. */
  readonly task: string;
  readonly group: string;
  readonly spec: ServiceCheck;
  readonly address: string;
  readonly port: number;
}

/**
 * WorkloadService is a service of the built-in provider as an allocation offers it: its registration and its checks.
 */
export interface WorkloadService {
  /** The name of its task; empty for a service of the group. */
  readonly task: string;
  readonly registration: RegisteredService;
  readonly checks: readonly WorkloadCheck[];
}

export interface WorkloadPlace {
  readonly alloc: Allocation;
  readonly job: Job;
  readonly node: Node;
  readonly region: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** The network of the allocation's namespace; null if it has no address of its own. */
  readonly network: AllocNetworkStatus | null;
  /** Returns the network that the driver made for a running task. */
  readonly networkOf: (task: string) => DriverNetwork | null;
}

/**
 * Returns the services that an allocation's job defines: the group's first, then task by task. Pure. Cost: O(services
 * and checks).
 */
export function servicesOf(place: WorkloadPlace): WorkloadService[] {
  const { alloc, job } = place;
  const group = findTaskGroup(job, alloc.TaskGroup);
  if (!group) return [];
  const offered: WorkloadService[] = [];
  for (const task of [null, ...group.Tasks]) {
    const services = ((task ?? group).Services ?? []).filter((service) => service.Provider === 'nomad');
    if (services.length === 0) continue;
    const env = new TaskEnv({ ...place, task, paths: null });
    for (const service of services)
      offered.push(workloadService(env.interpolateAll(service) as Service, task?.Name ?? '', place));
  }
  return offered;
}

function workloadService(service: Service, task: string, place: WorkloadPlace): WorkloadService {
  const { alloc } = place;
  const workload = task === '' ? `group-${alloc.TaskGroup}` : task;
  const ID = registrationId(alloc.ID, workload, service);
  const isCanary = alloc.DeploymentStatus?.Canary === true && (service.CanaryTags ?? []).length > 0;
  const Tags = isCanary ? service.CanaryTags : service.Tags;
  const network = place.networkOf(task);
  const endpoint = endpointOf(
    { task, label: service.PortLabel, mode: service.AddressMode, literal: service.Address },
    place,
    network,
  );
  const named = checkNames(service.Checks ?? []);
  const checks = (service.Checks ?? []).map((spec, at): WorkloadCheck => ({
    id: checkId(ID, named[at] ?? spec.Name),
    service: service.Name,
    task,
    group: alloc.Name,
    spec,
    ...endpointOf(
      { task, label: spec.PortLabel || service.PortLabel, mode: spec.AddressMode, literal: '' },
      place,
      network,
    ),
  }));
  const registration = { ID, ServiceName: service.Name, Tags, Address: endpoint.address, Port: endpoint.port };
  return { task, registration, checks };
}

interface Endpoint {
  readonly address: string;
  readonly port: number;
}

interface WantedEndpoint {
  /** The task whose own network counts besides the group's (NW-12); empty for a service of the group. */
  readonly task: string;
  /** The label of a port, or a number; empty means no port. */
  readonly label: string;
  /** `AddressMode`. */
  readonly mode: string;
  /** The address in the job; empty if there is none. */
  readonly literal: string;
}

/**
 * Returns the address and port to register (AG-143). A label that names no port may be a number; else the port is 0.
 */
function endpointOf(
  { task, label, mode, literal }: WantedEndpoint,
  { alloc, node, network: ofAlloc }: WorkloadPlace,
  network: DriverNetwork | null,
): Endpoint {
  const { Shared, Tasks } = alloc.AllocatedResources;
  const ofTask = (Tasks[task]?.Networks ?? []).flatMap(portsOfNetwork);
  const mapped = [...(Shared.Ports ?? []), ...ofTask].find((port) => port.Label === label);
  const port = mapped ? mapped.Value : /^\d{1,5}$/.test(label) ? Number(label) : 0;
  const inside = mapped && mapped.To > 0 ? mapped.To : port;
  const host = mapped?.HostIP || (node.Attributes['unique.network.ip-address'] ?? '');
  if (literal !== '') return { address: literal, port };
  if (network && (mode === 'driver' || (mode !== 'host' && !isOfAlloc(mode) && network.autoAdvertise)))
    return { address: network.ip, port: network.portMap[label] ?? inside };
  if (mode === 'alloc_ipv6') return { address: ofAlloc?.AddressIPv6 || host, port: inside };
  // A task without its own network is in the network of its allocation.
  if (mode === 'alloc' || mode === 'driver') return { address: ofAlloc?.Address || host, port: inside };
  return { address: host, port };
}

const isOfAlloc = (mode: string): boolean => mode === 'alloc' || mode === 'alloc_ipv6';

/** Returns each check's name. If several checks share a name (API-344), each after the first gets a number. */
function checkNames(checks: readonly ServiceCheck[]): string[] {
  const seen = new Map<string, number>();
  return checks.map(({ Name }) => {
    const earlier = seen.get(Name) ?? 0;
    seen.set(Name, earlier + 1);
    return earlier === 0 ? Name : `${Name}\n${earlier + 1}`;
  });
}

/** Returns the id of a check, which is constant during the allocation's life. */
const checkId = (registration: string, name: string): string =>
  `_nomad-check-${createHash('sha256').update(`${registration}\n${name}`).digest('hex').slice(0, 40)}`;
