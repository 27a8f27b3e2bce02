import { DEFAULT_CAPABILITIES, DockerDriver, type DockerOptions } from '@waybill/agent';
import { monotonicClock } from '@waybill/roles';
import { systemClock, systemTimers } from '@waybill/service';
import { silentLogger } from '@waybill/telemetry';

/** Returns a driver without rights beyond the usual ones, on real clocks. */
export const dockerDriver = (
  given: Pick<DockerOptions, 'endpoint' | 'agent' | 'outputs'> & Partial<DockerOptions>,
): DockerDriver =>
  new DockerDriver({
    policy: { volumes: false, privileged: false, allowedCapabilities: DEFAULT_CAPABILITIES },
    imageGc: true,
    infraImage: '',
    infraImagePullTimeoutMs: 60_000,
    mhzPerCore: 1_000,
    clock: systemClock,
    monotonic: monotonicClock,
    timers: systemTimers,
    logger: silentLogger,
    ...given,
  });
