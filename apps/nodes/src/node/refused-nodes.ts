import { type Clock, type Node, type Refusal, TokenBucket } from '@waybill/model';
import type { RecordsRoleEvents } from '@waybill/service';

/** An agent tries again every 15 s to 30 s (AG-31), and a machine that was taken over may do so with many node IDs. */
export const RECORDED_REFUSALS = { perSecond: 1, burst: 60 } as const;

/**
 * RefusedNodes records for the audit log which machines were refused (AU-281). Limit: RECORDED_REFUSALS, so that machines
 * cannot displace records of other events. Further refusals are counted only.
 */
export class RefusedNodes {
  private readonly rate: TokenBucket;

  constructor(
    private readonly audit: RecordsRoleEvents,
    clock: Clock,
    private readonly notRecorded: () => void,
  ) {
    this.rate = new TokenBucket(clock, RECORDED_REFUSALS);
  }

  readonly record = ({ ID, Name }: Node, { code, message }: Refusal): void => {
    if (!this.rate.tryTake()) {
      this.notRecorded();
      return;
    }
    const Error = { Code: code, Text: message };
    this.audit.record({ Kind: 'registration', NodeID: ID, NodeName: Name, Error });
  };
}
