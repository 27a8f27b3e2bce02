import type { ProposedAllocs } from './proposed-allocs.js';
import {
  type Constraint,
  DISTINCT_HOSTS,
  DISTINCT_PROPERTY,
  escapesClass,
  type Job,
  meetsConstraint,
  type Node,
  resolveTarget,
  type TaskGroup,
} from '@waybill/model';
import { ClassEligibility } from './class-eligibility.js';
import { hasDevices, type DeviceAsk } from '../ranking/device-assignment.js';
import { matchesByClass } from './device-match.js';
import { devicesAskedBy } from '../ranking/group-ask.js';
import { hasCsiVolumes, type VolumeFeasibility } from './volume-feasibility.js';

/** The reason for a node whose class another node has shown to be infeasible (SC-53). */
export const REJECTED_CLASS = 'computed class ineligible';

interface GroupNeeds {
  readonly group: TaskGroup;
  readonly drivers: readonly string[];
  readonly constraints: readonly Constraint[];
  readonly devices: readonly DeviceAsk[];
  readonly networkMode: string;
  readonly portNetworks: readonly string[];
}

/**
 * Whether an allocation of a group can run on a node, regardless of capacity, and the reason if it cannot (section 4).
 *
 * One for each attempt. Checks that depend on a node's class are made once for each class. Checks of drivers, device
 * instances, networks and volumes, which are not part of a class, are made on every node (SC-345). Cost for a node:
 * O(constraints), or O(1) for a class that failed.
 */
export class Feasibility {
  readonly eligibility: ClassEligibility;
  private readonly needs = new Map<string, GroupNeeds>();
  private readonly jobConstraints: readonly Constraint[];

  constructor(
    private readonly job: Job,
    private readonly allocs: ProposedAllocs,
    private readonly volumes: VolumeFeasibility,
    /** Whether the job is of type system or sysbatch, to which `distinct_hosts` does not apply (SC-45). */
    private readonly isSystem: boolean,
  ) {
    this.jobConstraints = job.Constraints ?? [];
    const escapedGroups = new Set<string>();
    for (const group of job.TaskGroups) {
      const needs = needsOf(group);
      this.needs.set(group.Name, needs);
      if (needs.constraints.some(escapes) || hasCsiVolumes(group)) escapedGroups.add(group.Name);
    }
    this.eligibility = new ClassEligibility(this.jobConstraints.some(escapes), escapedGroups);
  }

  /** Names of volumes that no node could offer, for the blocked evaluation (SC-75). */
  missingResources(group: TaskGroup): string[] {
    return this.volumes.missingResources(group.Name);
  }

  /** Whether feasibility depends on allocations of other nodes (SC-62, SC-73). */
  dependsOnOtherNodes(group: TaskGroup): boolean {
    if (this.volumes.dependsOnOtherNodes(group.Name)) return true;
    const constraints = [...this.jobConstraints, ...(this.needs.get(group.Name)?.constraints ?? [])];
    return constraints.some(({ Operand }) => Operand === DISTINCT_PROPERTY);
  }

  /** Whether the node's class alone shows that the node is infeasible (SC-53). */
  isRejectedClass(node: Node, group: TaskGroup): boolean {
    const { eligibility } = this;
    return (
      eligibility.jobVerdict(node.ComputedClass) === false ||
      eligibility.groupVerdict(group.Name, node.ComputedClass) === false
    );
  }

  /**
   * The reason as clients see it, undefined if the node is feasible (SC-45). @param allocName name of the allocation to
   * place, which may have volumes of its own (SC-67)
   */
  whyNot(node: Node, group: TaskGroup, allocName: string): string | undefined {
    const needs = this.needs.get(group.Name);
    if (!needs) return 'missing task group';
    return (
      this.byClass(node, needs) ??
      missingDriver(node, needs) ??
      missingDevices(node, needs) ??
      missingNetwork(node, needs) ??
      this.volumes.whyNot(node, group.Name, allocName) ??
      (this.isSystem ? undefined : this.notDistinctHost(node, needs)) ??
      this.notDistinctProperty(node, needs)
    );
  }

  private byClass(node: Node, needs: GroupNeeds): string | undefined {
    const { eligibility } = this;
    const { ComputedClass } = node;
    const { Name } = needs.group;
    const jobVerdict = eligibility.jobVerdict(ComputedClass);
    if (jobVerdict === false) return REJECTED_CLASS;
    if (jobVerdict === undefined) {
      const failed = firstUnmet(this.jobConstraints, node);
      eligibility.setJob(ComputedClass, failed === undefined);
      if (failed) return failed;
    }
    const groupVerdict = eligibility.groupVerdict(Name, ComputedClass);
    if (groupVerdict === true) return undefined;
    if (groupVerdict === false) return REJECTED_CLASS;
    const failed =
      lacksDriverByClass(node, needs) ?? firstUnmet(needs.constraints, node) ?? lacksDevicesByClass(node, needs);
    eligibility.setGroup(Name, ComputedClass, failed === undefined);
    return failed;
  }

  /** The reason if an allocation of the job, or of the group, is on the node already (SC-60, SC-61). */
  private notDistinctHost(node: Node, needs: GroupNeeds): string | undefined {
    const ofJob = this.jobConstraints.some(isDistinctHosts);
    const ofGroup = needs.constraints.some(isDistinctHosts);
    if (!ofJob && !ofGroup) return undefined;
    const taken = this.allocs
      .proposed(node)
      .some(
        (a) =>
          a.JobID === this.job.ID && a.Namespace === this.job.Namespace && (ofJob || a.TaskGroup === needs.group.Name),
      );
    return taken ? DISTINCT_HOSTS : undefined;
  }

  /** The reason if too many allocations have the node's value of a property (SC-62). */
  private notDistinctProperty(node: Node, needs: GroupNeeds): string | undefined {
    return this.usedUp(node, this.jobConstraints, undefined) ?? this.usedUp(node, needs.constraints, needs.group.Name);
  }

  private usedUp(node: Node, constraints: readonly Constraint[], group: string | undefined): string | undefined {
    for (const { Operand, LTarget, RTarget } of constraints) {
      if (Operand !== DISTINCT_PROPERTY) continue;
      const value = resolveTarget(LTarget, node);
      if (value === undefined) return `missing property "${LTarget}"`;
      const used = this.allocs.countByProperty(LTarget, value, group);
      if (used >= (Number(RTarget) || 1)) return `${DISTINCT_PROPERTY}: ${LTarget}=${value} used by ${used} allocs`;
    }
    return undefined;
  }
}

function needsOf(group: TaskGroup): GroupNeeds {
  const network = group.Networks?.[0];
  const ports = [...(network?.ReservedPorts ?? []), ...(network?.DynamicPorts ?? [])];
  return {
    group,
    drivers: [...new Set(group.Tasks.map((task) => task.Driver))],
    constraints: [...(group.Constraints ?? []), ...group.Tasks.flatMap((task) => task.Constraints ?? [])],
    devices: devicesAskedBy(group),
    networkMode: network?.Mode || 'host',
    portNetworks: [...new Set(ports.map((port) => port.HostNetwork).filter((name) => name !== ''))],
  };
}

const escapes = (c: Constraint): boolean => escapesClass(c.LTarget) || escapesClass(c.RTarget);

function firstUnmet(constraints: readonly Constraint[], node: Node): string | undefined {
  const unmet = constraints.find((c) => !meetsConstraint(c, node));
  return unmet && `${unmet.LTarget} ${unmet.Operand} ${unmet.RTarget}`;
}

/** Whether the constraint is in force: only a text that means false turns it off (SC-60). */
function isDistinctHosts({ Operand, RTarget }: Constraint): boolean {
  return Operand === DISTINCT_HOSTS && !['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(RTarget);
}

/**
 * The reason if the node has no such driver at all, which makes its class ineligible; an unhealthy driver does not
 * (SC-345).
 */
function lacksDriverByClass(node: Node, needs: GroupNeeds): string | undefined {
  return needs.drivers.every((name) => isTrue(node.Attributes[`driver.${name}`]) || node.Drivers[name] !== undefined)
    ? undefined
    : 'missing drivers';
}

/** The reason if a driver is missing or unhealthy (SC-47). */
function missingDriver(node: Node, needs: GroupNeeds): string | undefined {
  const has = (name: string): boolean => {
    const info = node.Drivers[name];
    return info ? info.Detected && info.Healthy : isTrue(node.Attributes[`driver.${name}`]);
  };
  return needs.drivers.every(has) ? undefined : 'missing drivers';
}

const isTrue = (text: string | undefined): boolean =>
  text !== undefined && ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text);

/** The reason if no device of the node matches, which makes its class ineligible; unhealthy devices do not (SC-345). */
function lacksDevicesByClass({ NodeResources }: Node, { devices }: GroupNeeds): string | undefined {
  const some = ({ request }: DeviceAsk): boolean =>
    NodeResources.Devices?.some((device) => matchesByClass(device, request)) ?? false;
  return devices.every(some) ? undefined : 'missing devices';
}

/** The reason if too few healthy devices match (SC-92). */
function missingDevices({ NodeResources }: Node, { devices }: GroupNeeds): string | undefined {
  return devices.length === 0 || hasDevices(NodeResources.Devices ?? [], devices) ? undefined : 'missing devices';
}

/** The reason if the node lacks a network that the group needs (SC-66, SC-81, SC-82, NW-9). */
function missingNetwork(node: Node, needs: GroupNeeds): string | undefined {
  const { Networks, NodeNetworks } = node.NodeResources;
  const hasMode = (network: { readonly Mode: string }): boolean => (network.Mode || 'host') === needs.networkMode;
  const offered = needs.networkMode === 'none' || Networks?.some(hasMode) || NodeNetworks?.some(hasMode);
  if (!offered) return withReason('missing network', node.Attributes[`network.${needs.networkMode}.missing`]);
  for (const name of needs.portNetworks) {
    const alias = resolveTarget(name, node);
    if (alias === undefined) return `invalid host network "${name}" template for port "${portOf(needs, name)}"`;
    const known = NodeNetworks?.some((n) => n.Addresses?.some((a) => a.Alias === alias));
    if (!known) return `missing host network "${alias}" for port "${portOf(needs, name)}"`;
  }
  return undefined;
}

/** A machine may say why it lacks something. */
const withReason = (text: string, why: string | undefined): string => (why === undefined ? text : `${text}: ${why}`);

function portOf({ group }: GroupNeeds, hostNetwork: string): string {
  const network = group.Networks?.[0];
  const ports = [...(network?.ReservedPorts ?? []), ...(network?.DynamicPorts ?? [])];
  return ports.find((port) => port.HostNetwork === hostNetwork)?.Label ?? '';
}
