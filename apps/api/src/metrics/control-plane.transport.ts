import type { ReadModel } from '@waybill/projection';
import { gatherFigures, type ServiceContext } from '@waybill/service';
import { logEnd } from './cluster-metrics.transport.js';
import type { ControlPlaneParts } from './control-plane.js';

/** ControlPlaneReader asks all services, the log and PostgreSQL. It takes 100 ms longer than the slowest service. */
export class ControlPlaneReader {
  constructor(
    private readonly context: Pick<ServiceContext, 'link'>,
    private readonly model: Pick<ReadModel, 'leases' | 'appliedIndex'>,
  ) {}

  async read(): Promise<ControlPlaneParts> {
    const { link } = this.context;
    const [leases, figures, appliedIndex] = await Promise.all([
      this.model.leases(),
      gatherFigures(link.nc).catch(() => []),
      this.model.appliedIndex(),
    ]);
    // The end of the log is read last: it may only be ahead.
    const logIndex = await logEnd(link).catch(() => undefined);
    return { leases, figures, logIndex, appliedIndex };
  }
}
