import type { AllocNetworkStatus } from '@waybill/model';

/** Sandbox is the engine's container that holds a namespace, so that other containers can join it (NW-34). */
export interface Sandbox {
  /** The engine's ID of the container. */
  readonly container: string;
}

/** TaskNetwork is the network namespace that the tasks of an allocation share. */
export interface TaskNetwork {
  /** The path by which programs enter it. */
  readonly namespace: string;
  /** The status; null if it has no address (mode `none`). */
  readonly status: AllocNetworkStatus | null;
  /** The host name; empty means that of the machine. */
  readonly hostname: string;
  /** The container that holds the namespace; absent if the agent has made the namespace. */
  readonly sandbox?: Sandbox;
}
