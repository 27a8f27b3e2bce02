import {
  type AllocatedPort,
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

/** RefusedService is a service without an address that others could use (NW-112). */
export interface RefusedService {
  /** The name of its task; empty for a service of the group. */
  readonly task: string;
  readonly service: string;
  readonly reason: string;
}

/** ServicesOfJob are the services that an allocation can offer, and those whose address it cannot find. */
export interface ServicesOfJob {
  readonly services: readonly WorkloadService[];
  readonly refused: readonly RefusedService[];
}

/**
 * Returns the services that an allocation's job defines: the group's first, then task by task. Pure. Cost: O(services
 * and checks).
 */
export function servicesOf(place: WorkloadPlace): ServicesOfJob {
  const { alloc, job } = place;
  const group = findTaskGroup(job, alloc.TaskGroup);
  const services: WorkloadService[] = [];
  const refused: RefusedService[] = [];
  for (const task of group ? [null, ...group.Tasks] : []) {
    const wanted = ((task ?? group)?.Services ?? []).filter((service) => service.Provider === 'nomad');
    if (wanted.length === 0) continue;
    const env = new TaskEnv({ ...place, task, paths: null });
    for (const one of wanted) {
      const service = env.interpolateAll(one) as Service;
      const found = workloadService(service, task?.Name ?? '', place);
      if ('error' in found) refused.push({ task: task?.Name ?? '', service: service.Name, reason: found.error });
      else services.push(found);
    }
  }
  return { services, refused };
}

function workloadService(service: Service, task: string, place: WorkloadPlace): WorkloadService | NoEndpoint {
  const { alloc } = place;
  const workload = task === '' ? `group-${alloc.TaskGroup}` : task;
  const ID = registrationId(alloc.ID, workload, service);
  const isCanary = alloc.DeploymentStatus?.Canary === true && (service.CanaryTags ?? []).length > 0;
  const Tags = isCanary ? service.CanaryTags : service.Tags;
  const endpoint = endpointOf(
    { task, label: service.PortLabel, mode: service.AddressMode, literal: service.Address },
    place,
  );
  if ('error' in endpoint) return endpoint;
  const named = checkNames(service.Checks ?? []);
  const checks: WorkloadCheck[] = [];
  for (const [at, spec] of (service.Checks ?? []).entries()) {
    const label = spec.PortLabel || service.PortLabel;
    const ofCheck = endpointOf({ task, label, mode: spec.AddressMode, literal: '' }, place);
    if ('error' in ofCheck) return { error: `check "${spec.Name}": ${ofCheck.error}` };
    checks.push({
      id: checkId(ID, named[at] ?? spec.Name),
      service: service.Name,
      task,
      group: alloc.Name,
      spec,
      ...ofCheck,
    });
  }
  const registration = { ID, ServiceName: service.Name, Tags, Address: endpoint.address, Port: endpoint.port };
  return { task, registration, checks };
}

interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** The reason why there is no address (NW-112). */
interface NoEndpoint {
  readonly error: string;
}

interface WantedEndpoint {
  /** The task whose own network counts besides the group's (NW-12); empty for a service of the group. */
  readonly task: string;
  /** The label of a port, or a number; empty means no port. */
  readonly label: string;
  /** `AddressMode`. A check may have none, which means the address of the machine or of a driver that advertises its. */
  readonly mode: string;
  /** The address in the job; empty if there is none. */
  readonly literal: string;
}

/** Returns the address and port to register (AG-143, NW-111), or why there are none (NW-112). */
function endpointOf(wanted: WantedEndpoint, place: WorkloadPlace): Endpoint | NoEndpoint {
  const { task, label, mode, literal } = wanted;
  const { Shared, Tasks } = place.alloc.AllocatedResources;
  const ofTask = (Tasks[task]?.Networks ?? []).flatMap(portsOfNetwork);
  const port = [...(Shared.Ports ?? []), ...ofTask].find((one) => one.Label === label);
  const network = place.networkOf(task) ?? inAllocation(place);
  if (literal !== '') return addressAt(literal, label, port?.Value, 'port label not found');
  if (mode === 'driver' || (network?.autoAdvertise && (mode === 'auto' || mode === '')))
    return ofDriver(label, port, network);
  if (mode === 'alloc' || mode === 'alloc_ipv6') {
    const address = mode === 'alloc' ? place.network?.Address : place.network?.AddressIPv6;
    if (!address) return { error: `cannot use address_mode="${mode}": no allocation network status reported` };
    return addressAt(address, label, insideOf(port), 'port label not found or is not numeric');
  }
  const machine = place.node.Attributes['unique.network.ip-address'] ?? '';
  return addressAt(port?.HostIP || machine, label, port?.Value, 'port label not found');
}

/** Returns the network of a task without its own one: that of its allocation, if it has an address. */
const inAllocation = ({ network }: WorkloadPlace): DriverNetwork | null =>
  network?.Address ? { ip: network.Address, portMap: {}, autoAdvertise: false } : null;

function ofDriver(
  label: string,
  port: AllocatedPort | undefined,
  network: DriverNetwork | null,
): Endpoint | NoEndpoint {
  if (!network) return { error: 'cannot use address_mode="driver": no driver network exists' };
  const inside = network.portMap[label] ?? insideOf(port);
  if (label !== '' && inside === undefined && !isNumber(label))
    return {
      error: `invalid port label "${label}": port labels in driver address_mode must be numeric or in the driver's port map`,
    };
  return addressAt(network.ip, label, inside, '');
}

/** Returns the number of a port inside the network. */
const insideOf = (port: AllocatedPort | undefined): number | undefined => port && (port.To > 0 ? port.To : port.Value);

/**
 * Returns an address with a port: the known one, else the number that the label is, else none.
 * @param unknown what is wrong with a label that is neither known nor a number
 */
function addressAt(address: string, label: string, known: number | undefined, unknown: string): Endpoint | NoEndpoint {
  if (known !== undefined) return { address, port: known };
  if (label === '') return { address, port: 0 };
  if (!isNumber(label)) return { error: `invalid port "${label}": ${unknown}` };
  return Number(label) > 0 ? { address, port: Number(label) } : { error: `invalid port: "${label}": port must be >0` };
}

const isNumber = (label: string): boolean => /^\d{1,5}$/.test(label);

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
