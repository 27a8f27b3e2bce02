import type { NodeDevice } from '@waybill/model';
import { keyValues } from '../terminal/table.js';

/** A value of a device's statistics. Any member may be absent (CL-1107). */
interface StatValue {
  readonly FloatNumeratorVal?: number | null;
  readonly FloatDenominatorVal?: number | null;
  readonly IntNumeratorVal?: number | null;
  readonly IntDenominatorVal?: number | null;
  readonly StringVal?: string | null;
  readonly BoolVal?: boolean | null;
  readonly Unit?: string;
}

export interface DeviceGroupStats {
  readonly Vendor?: string;
  readonly Type?: string;
  readonly Name?: string;
  readonly InstanceStats?: Readonly<Record<string, { readonly Summary?: StatValue | null }>> | null;
}

type Devices = readonly NodeDevice[] | null | undefined;

/** Lists the devices of a machine with their use; an unhealthy one with the reason (CL-505). Undefined without any. */
export function deviceUse(
  devices: Devices,
  { DeviceStats }: { readonly DeviceStats?: readonly DeviceGroupStats[] | null },
): string | undefined {
  if (!devices || devices.length === 0) return undefined;
  const rows = devices.flatMap((device) => {
    const stats = (DeviceStats ?? []).find(
      ({ Vendor, Type, Name }) => Vendor === device.Vendor && Type === device.Type && Name === device.Name,
    );
    return device.Instances.map(({ ID, Healthy, HealthDescription }) => {
      const use = statText(stats?.InstanceStats?.[ID]?.Summary);
      return [`${deviceName(device)}[${ID}]`, Healthy ? use : `unhealthy: ${HealthDescription}`] as const;
    });
  });
  return keyValues(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Lists the attributes of each group of devices (CL-505, `-verbose`). Undefined without any. */
export function deviceAttributes(devices: Devices): string | undefined {
  if (!devices || devices.length === 0) return undefined;
  const groups = devices.map((device) => {
    const attributes = Object.entries(device.Attributes ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return keyValues([
      ['Device Group', deviceName(device)],
      ...attributes.map(([key, value]) => [key, attributeText(value)] as const),
    ]);
  });
  return groups.join('\n\n');
}

/** Returns the name of a group of devices, such as `nvidia/gpu/T4`. */
export const deviceName = ({ Vendor, Type, Name }: Pick<NodeDevice, 'Vendor' | 'Type' | 'Name'>): string =>
  `${Vendor}/${Type}/${Name}`;

/** Returns a value with its unit: `40 / 11441 MiB`; `<none>` without one. */
export function statText(stat: StatValue | null | undefined): string {
  if (!stat) return '<none>';
  const of = stat.FloatDenominatorVal ?? stat.IntDenominatorVal;
  const value = stat.StringVal ?? stat.BoolVal ?? stat.FloatNumeratorVal ?? stat.IntNumeratorVal ?? '';
  return `${value}${of === null || of === undefined ? '' : ` / ${of}`}${stat.Unit ? ` ${stat.Unit}` : ''}`;
}

function attributeText(attribute: unknown): string {
  if (typeof attribute !== 'object' || attribute === null) return String(attribute);
  const {
    Int,
    Float,
    String: text,
    Bool,
    Unit,
  } = attribute as Readonly<Record<string, string | number | boolean | null>>;
  const value = [text, Bool, Int, Float].find((one) => one !== null && one !== undefined) ?? '';
  return `${value}${Unit ? ` ${Unit}` : ''}`;
}
