import { affinityShape, constraintShape } from '../jobs/placement-shape.js';
import type { CNIConfig, DNSConfig, NetworkResource, NUMA, Port, RequestedDevice, Resources } from './resources.js';
import {
  boolean,
  filledString,
  int,
  list,
  map,
  object,
  present,
  serverOwned,
  string,
  uint,
  type Shape,
} from '../encoding/wire-shape.js';

const dnsShape: Shape<DNSConfig> = {
  name: 'DNSConfig',
  fields: { Servers: list(string()), Searches: list(string()), Options: list(string()) },
};

const cniShape: Shape<CNIConfig> = { name: 'CNIConfig', fields: { Args: map(string()) } };

const portShape: Shape<Port> = {
  name: 'Port',
  fields: {
    Label: string(),
    Value: int(),
    To: int(),
    HostNetwork: filledString('default'),
    IgnoreCollision: boolean(),
  },
};

export const networkShape: Shape<NetworkResource> = {
  name: 'NetworkResource',
  fields: {
    Mode: string(),
    // A client's value is dropped (API-317).
    Device: serverOwned(''),
    CIDR: string(),
    IP: string(),
    Hostname: string(),
    MBits: int(),
    DNS: object(dnsShape),
    ReservedPorts: list(present(portShape)),
    DynamicPorts: list(present(portShape)),
    CNI: object(cniShape),
  },
};

const deviceShape: Shape<RequestedDevice> = {
  name: 'RequestedDevice',
  fields: {
    Name: string(),
    Count: uint(1),
    Constraints: list(present(constraintShape)),
    Affinities: list(present(affinityShape)),
  },
};

const numaShape: Shape<NUMA> = {
  name: 'NUMAResource',
  fields: { Affinity: filledString('none'), Devices: list(string()) },
};

/**
 * Resources of a task and their defaults (API-305). The rule that `CPU` is 0 if `Cores` is given is in
 * canonicalise-task.ts.
 */
export const resourcesShape: Shape<Resources> = {
  name: 'Resources',
  fields: {
    CPU: int(100),
    Cores: int(),
    MemoryMB: int(300),
    MemoryMaxMB: int(),
    // A client's value is dropped (API-317).
    DiskMB: serverOwned(0),
    IOPS: int(),
    Networks: list(present(networkShape)),
    Devices: list(present(deviceShape)),
    NUMA: object(numaShape),
    SecretsMB: int(),
  },
};
