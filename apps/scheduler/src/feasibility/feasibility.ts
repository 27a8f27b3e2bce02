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

/** Known from another node of its class (SC-53). */
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
 * Yes or no, and why not: can an allocation of a group run on a node, capacity aside (section 4).
 *
 * One per attempt. Verdicts that follow from a node's class are taken once per class; those on drivers, device instances,
 * networks and volumes, which a class says nothing about, are taken on every node (SC-345). Cost per node: O(constraints), or O(1) for a
 * class that failed.
 */
export class Feasibility {
  readonly eligibility: ClassEligibility;
  private readonly needs = new Map<string, GroupNeeds>();
  private readonly jobConstraints: readonly Constraint[];

  constructor(
    private readonly job: Job,
    private readonly allocs: ProposedAllocs,
    private readonly volumes: VolumeFeasibility,
    private readonly isSystem = false,
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

  /** Whether what is feasible changes with allocations on other nodes (SC-62, SC-73). */
  dependsOnOtherNodes(group: TaskGroup): boolean {
    if (this.volumes.dependsOnOtherNodes(group.Name)) return true;
    const constraints = [...this.jobConstraints, ...(this.needs.get(group.Name)?.constraints ?? [])];
    return constraints.some(({ Operand }) => Operand === DISTINCT_PROPERTY);
  }

  /** SC-53: its class alone is enough to know that it is infeasible. */
  isRejectedClass(node: Node, group: TaskGroup): boolean {
    const { eligibility } = this;
    return (
      eligibility.jobVerdict(node.ComputedClass) === false ||
      eligibility.groupVerdict(group.Name, node.ComputedClass) === false
    );
  }

  /**
   * Undefined: feasible. Else the reason as clients see it (SC-45).
   * @param allocName of the allocation to be placed: it may have volumes of its own (SC-67)
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

  /** SC-60, SC-61. */
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

  /** SC-62. */
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

/** SC-60: only a text that says no turns it off. */
function isDistinctHosts({ Operand, RTarget }: Constraint): boolean {
  return Operand === DISTINCT_HOSTS && !['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(RTarget);
}

/** SC-345: a class without the driver at all is ineligible; an unhealthy driver says nothing about its class. */
function lacksDriverByClass(node: Node, needs: GroupNeeds): string | undefined {
  return needs.drivers.every((name) => isTrue(node.Attributes[`driver.${name}`]) || node.Drivers[name] !== undefined)
    ? undefined
    : 'missing drivers';
}

/** SC-47. */
function missingDriver(node: Node, needs: GroupNeeds): string | undefined {
  const has = (name: string): boolean => {
    const info = node.Drivers[name];
    return info ? info.Detected && info.Healthy : isTrue(node.Attributes[`driver.${name}`]);
  };
  return needs.drivers.every(has) ? undefined : 'missing drivers';
}

const isTrue = (text: string | undefined): boolean =>
  text !== undefined && ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text);

/** SC-345: a class none of whose devices match is ineligible; how many of them are healthy says nothing about the class. */
function lacksDevicesByClass({ NodeResources }: Node, { devices }: GroupNeeds): string | undefined {
  const some = ({ request }: DeviceAsk): boolean =>
    NodeResources.Devices?.some((device) => matchesByClass(device, request)) ?? false;
  return devices.every(some) ? undefined : 'missing devices';
}

/** SC-92. */
function missingDevices({ NodeResources }: Node, { devices }: GroupNeeds): string | undefined {
  return devices.length === 0 || hasDevices(NodeResources.Devices ?? [], devices) ? undefined : 'missing devices';
}

/** SC-66, SC-81, SC-82, NW-9. */
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
