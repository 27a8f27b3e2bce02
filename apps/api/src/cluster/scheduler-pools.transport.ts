import type { NatsLink } from '@waybill/journal';
import { changePools, gatherPools, type PoolReport } from '@waybill/rpc';
import { unavailable } from '../http/api-error.js';

/** SchedulerPools asks all scheduler processes for their worker pools, and changes the pools. It keeps nothing. */
export class SchedulerPools {
  constructor(private readonly link: Pick<NatsLink, 'up' | 'nc'>) {}

  /** Returns one report for each process that answers. @throws Refusal unavailable if NATS is not connected */
  async gatherReports(): Promise<PoolReport[]> {
    if (!this.link.up) throw unavailable('the schedulers cannot be asked: not connected to NATS');
    return gatherPools(this.link.nc);
  }

  /** Changes the pools and returns the reports of the processes that did. */
  updatePools(change: Parameters<typeof changePools>[1]): Promise<PoolReport[]> {
    return changePools(this.link.nc, change);
  }
}
