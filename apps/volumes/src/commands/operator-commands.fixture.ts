import type { CSIControllerInfo, CSIVolumeSpecification } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { VolumesCluster } from '../releases/volumes-cluster.fixture.js';

let requests = 0;
/** Another request. */
export const aRequest = () => ({ requestId: `request-${++requests}` });

/** What an operator submits. */
export function aSpecification(over: Partial<CSIVolumeSpecification> = {}): CSIVolumeSpecification {
  const {
    Provider: _p,
    ProviderVersion: _v,
    ControllerRequired: _c,
    ...specification
  } = fixtures.aVolumeRegistration();
  return { ...specification, ...over };
}

/** The role is held; machine `m` has the node plugin, and `c` a controller that can do all but what is switched off. */
export function operated({ lacking = [] }: { lacking?: (keyof CSIControllerInfo)[] } = {}): VolumesCluster {
  const cluster = new VolumesCluster();
  cluster.machine('m');
  const plugin = fixtures.aControllerPlugin();
  if (!plugin.ControllerInfo) throw new Error('the fixture is a controller');
  const ControllerInfo = { ...plugin.ControllerInfo, ...Object.fromEntries(lacking.map((one) => [one, false])) };
  cluster.machine('c', { over: { CSIControllerPlugins: { disks: { ...plugin, ControllerInfo } } } });
  cluster.lead();
  return cluster;
}

/** The role is held; machine `m` has the node plugin, and nobody a controller. */
export function withoutController(): VolumesCluster {
  const cluster = new VolumesCluster();
  cluster.machine('m');
  cluster.lead();
  return cluster;
}
