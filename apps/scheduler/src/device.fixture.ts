import type { Constraint, NodeDevice, RequestedDevice } from '@waybill/model';

/** A group of devices with these instances; those whose ID ends in `!` are unhealthy. */
export const gpus = (ids: string[], over: Partial<NodeDevice> = {}): NodeDevice => ({
  Vendor: 'nvidia',
  Type: 'gpu',
  Name: 'V100',
  Instances: ids.map((id) => ({
    ID: id.replace('!', ''),
    Healthy: !id.endsWith('!'),
    HealthDescription: '',
    Locality: null,
  })),
  Attributes: {
    memory: { Int: 16, Unit: 'GiB' },
    cores: { Int: 640 },
    driver: { String: '418.40' },
    ecc: { Bool: true },
  },
  ...over,
});

/** A request for one device of type `gpu`. */
export const asks = (over: Partial<RequestedDevice> = {}): RequestedDevice => ({
  Name: 'gpu',
  Count: 1,
  Constraints: null,
  Affinities: null,
  ...over,
});

export const rule = (LTarget: string, Operand: string, RTarget: string): Constraint => ({ LTarget, Operand, RTarget });

/** An affinity to devices whose target equals the value. */
export const likes = (LTarget: string, RTarget: string, Weight: number) => ({ ...rule(LTarget, '=', RTarget), Weight });
