import type { AllocNetworkStatus } from '@waybill/model';

/** The network namespace that the tasks of an allocation share. */
export interface TaskNetwork {
  /** Path that programs enter it by. */
  readonly namespace: string;
  /** null: it has no address (mode `none`). */
  readonly status: AllocNetworkStatus | null;
  /** Empty: that of the machine. */
  readonly hostname: string;
}
