import type { NodeDevice } from '@waybill/model';
import { attributeFault, type AttributeMessage, type DeviceGroupMessage } from '@waybill/plugins';

/**
 * The most bytes of a plugin's list, as JSON in the node: more than a thousand devices. The messages of plugins have no
 * limit (PG-7), but a node has to fit a message of NATS, which takes 1 MiB by default.
 */
export const MAX_DEVICE_LIST_BYTES = 128 * 1024;

/** Says what is wrong with a plugin's list, or returns undefined (PG-92). One bad group spoils the whole list. */
export function listFault(groups: readonly DeviceGroupMessage[]): string | undefined {
  for (const { vendor, device_type: type, device_name: name, devices, attributes } of groups) {
    if (vendor === '') return 'device vendor must be specified';
    if (type === '') return 'device type must be specified';
    if (name === '') return 'device name must be specified';
    if (devices.some(({ ID }) => ID === '')) return 'device ID must be specified';
    for (const [key, attribute] of Object.entries(attributes)) {
      const fault = attributeFault(attribute);
      if (fault !== undefined) return `device attribute ${JSON.stringify(key)} invalid: ${fault}`;
    }
  }
  const bytes = Buffer.byteLength(JSON.stringify(groups.map(nodeDevice)));
  if (bytes <= MAX_DEVICE_LIST_BYTES) return undefined;
  return `the list of devices has ${bytes} bytes, and at most ${MAX_DEVICE_LIST_BYTES} fit a node: shorten descriptions and attributes, or divide the devices among machines`;
}

/** Returns the name of a device group: `vendor/type/name`. */
export const groupName = ({ Vendor, Type, Name }: Pick<NodeDevice, 'Vendor' | 'Type' | 'Name'>): string =>
  `${Vendor}/${Type}/${Name}`;

/**
 * Joins the lists of all plugins (PG-94, PG-95): groups of one name are one group, and of two instances with one ID the
 * later is dropped.
 * @param dropped is called for each dropped instance
 */
export function joinedDevices(
  lists: readonly (readonly DeviceGroupMessage[])[],
  dropped: (group: string, id: string) => void,
): NodeDevice[] {
  const groups = new Map<string, NodeDevice>();
  for (const message of lists.flat()) {
    const group = nodeDevice(message);
    const key = groupName(group);
    const known = groups.get(key);
    const ids = new Set(known?.Instances.map(({ ID }) => ID));
    const fresh = group.Instances.filter(({ ID }) => {
      const isFresh = !ids.has(ID);
      ids.add(ID);
      if (!isFresh) dropped(key, ID);
      return isFresh;
    });
    groups.set(key, { ...(known ?? group), Instances: [...(known?.Instances ?? []), ...fresh] });
  }
  return [...groups.values()].toSorted((a, b) => (groupName(a) < groupName(b) ? -1 : 1));
}

const nodeDevice = (group: DeviceGroupMessage): NodeDevice => ({
  Vendor: group.vendor,
  Type: group.device_type,
  Name: group.device_name,
  Instances: group.devices.map(({ ID, healthy, health_description: text, hw_locality: place }) => ({
    ID,
    Healthy: healthy,
    HealthDescription: text,
    Locality: place ? { PciBusID: place.pci_bus_id } : null,
  })),
  Attributes: Object.fromEntries(Object.entries(group.attributes).map(([key, value]) => [key, nodeAttribute(value)])),
});

const nodeAttribute = ({ float_val, int_val, string_val, bool_val, unit }: AttributeMessage): object => ({
  Float: float_val ?? null,
  Int: int_val === undefined ? null : Number(int_val),
  String: string_val ?? null,
  Bool: bool_val ?? null,
  Unit: unit,
});
