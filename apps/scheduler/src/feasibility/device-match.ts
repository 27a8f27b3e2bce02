import { type Constraint, type NodeDevice, operatorHolds, orderHolds, type RequestedDevice } from '@waybill/model';
import { deviceValueOf, orderOf, parseDeviceValue, type DeviceValue } from './device-attribute.js';

/** Target that stands for the instances: the only one that is no fact of the whole group (SC-94). */
const IDS = '${device.ids}';
const UNIQUE_ATTRIBUTE = '${device.attr.unique.';

/** Whether a group of devices matches a request, regardless of how many are free (SC-91, SC-94). O(constraints). */
export function matchesRequest(device: NodeDevice, request: RequestedDevice): boolean {
  return isNamed(device, request.Name) && (request.Constraints ?? []).every((rule) => holdsFor(device, rule));
}

/** Whether a group of devices matches a request by the facts that nodes of one class share (SC-345). */
export function matchesByClass(device: NodeDevice, request: RequestedDevice): boolean {
  const shared = (request.Constraints ?? []).filter((rule) => !isAboutOneNode(rule));
  return isNamed(device, request.Name) && shared.every((rule) => holdsFor(device, rule));
}

/** Whether the constraints on `${device.ids}` allow this instance (SC-94). */
export function isInstanceAllowed(id: string, request: RequestedDevice): boolean {
  return (request.Constraints ?? []).every(({ LTarget, RTarget, Operand }) => {
    if (LTarget !== IDS) return true;
    if (!Operand.startsWith('set_contains')) return operatorHolds(Operand, id, RTarget);
    return operatorHolds('set_contains', RTarget, id);
  });
}

/** The share of the request's affinities that this group meets, from -1 to 1; 0 without affinities (SC-93). */
export function affinityFor(device: NodeDevice, request: RequestedDevice): number {
  const total = weightOf(request);
  return total > 0 ? matchedWeight(device, request) / total : 0;
}

export function matchedWeight(device: NodeDevice, request: RequestedDevice): number {
  let matched = 0;
  for (const affinity of request.Affinities ?? []) if (holdsFor(device, affinity)) matched += affinity.Weight;
  return matched;
}

export function weightOf(request: RequestedDevice): number {
  return (request.Affinities ?? []).reduce((sum, { Weight }) => sum + Math.abs(Weight), 0);
}

/**
 * Whether the group has the requested name: `type`, `vendor/type` or `vendor/type/name`; a name may contain slashes
 * (SC-91).
 */
function isNamed({ Vendor, Type, Name }: NodeDevice, asked: string): boolean {
  const [first = '', second, ...rest] = asked.split('/');
  if (second === undefined) return first === Type;
  return first === Vendor && second === Type && (rest.length === 0 || rest.join('/') === Name);
}

function isAboutOneNode({ LTarget, RTarget }: Constraint): boolean {
  return [LTarget, RTarget].some((target) => target === IDS || target.startsWith(UNIQUE_ATTRIBUTE));
}

function holdsFor(device: NodeDevice, { LTarget, RTarget, Operand }: Constraint): boolean {
  return compareValues(Operand, resolve(LTarget, device), resolve(RTarget, device));
}

/** Whether two values satisfy a constraint's operand (SC-95). */
function compareValues(operand: string, left: DeviceValue | undefined, right: DeviceValue | undefined): boolean {
  switch (operand) {
    case '!=':
    case 'not':
      if (!left || !right) return left !== right;
      return (orderOf(left, right) ?? 0) !== 0;
    case '=':
    case '==':
    case 'is':
      return left !== undefined && right !== undefined && orderOf(left, right) === 0;
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const order = left && right && orderOf(left, right);
      return order !== undefined && orderHolds(operand, order);
    }
    default:
      return operatorHolds(operand, left?.text, right?.text);
  }
}

/** The value of a target, undefined if it is not found (SC-94). */
function resolve(target: string, device: NodeDevice): DeviceValue | undefined {
  if (!target.startsWith('${')) return parseDeviceValue(target);
  switch (target) {
    case IDS:
      return { kind: 'text', text: device.Instances.map(({ ID }) => ID).join(',') };
    case '${device.model}':
      return { kind: 'text', text: device.Name };
    case '${device.vendor}':
      return { kind: 'text', text: device.Vendor };
    case '${device.type}':
      return { kind: 'text', text: device.Type };
    default: {
      const key = /^\$\{device\.attr\.(.+)\}$/.exec(target)?.[1];
      // An inherited member of the record is no value.
      return key === undefined ? undefined : deviceValueOf(device.Attributes?.[key]);
    }
  }
}
