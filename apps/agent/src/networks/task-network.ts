import type { AllocNetworkStatus } from '@waybill/model';

/** The container of an engine that holds a namespace, so that other containers can join it (NW-34). */
export interface Sandbox {
  /** The engine's ID of it. */
  readonly container: string;
}

/** The network namespace that the tasks of an allocation share. */
export interface TaskNetwork {
  /** Path that programs enter it by. */
  readonly namespace: string;
  /** null: it has no address (mode `none`). */
  readonly status: AllocNetworkStatus | null;
  /** Empty: that of the machine. */
  readonly hostname: string;
  /** Absent: no container holds the namespace, the agent has made it. */
  readonly sandbox?: Sandbox;
}
