import type { AllocNetworkStatus } from '@waybill/model';
import type { CniResult } from './cni/cni-plugins.transport.js';
import type { NetworkList, PortMapping } from './cni/network-list.js';
import type { Namespace } from './network-namespaces.store.js';

/**
 * NetworkRecord contains all that the agent needs to find, check and remove the network of an allocation. It is written
 * before the machine is changed and after each step, and removed after the last one. All remains of a network therefore
 * have a record.
 */
export interface NetworkRecord {
  readonly version: 1;
  readonly allocId: string;
  readonly mode: string;
  /** The driver that makes its namespace; empty or absent if the agent makes it. */
  readonly maker?: string;
  /**
   * The namespace as it was made; null before that. It is absent in records of earlier builds; then the namespace with
   * the allocation's name counts.
   */
  readonly namespace?: Namespace | null;
  /** The list when the network was made; null for mode `none`. */
  readonly list: NetworkList | null;
  /** The CNI arguments (NW-58). */
  readonly args: string;
  readonly portMappings: readonly PortMapping[];
  /** The result of the plugins that have run so far; null before the first. */
  readonly result: CniResult | null;
  /** Whether all plugins have run. */
  readonly isReady: boolean;
  /** The status; null if not yet known, or for mode `none`. */
  readonly status: AllocNetworkStatus | null;
}

/** NetworkRecords stores the records. Files implement it (network-records.store.ts). */
export interface NetworkRecords {
  load(allocId: string): Promise<NetworkRecord | null>;
  save(record: NetworkRecord): Promise<void>;
  remove(allocId: string): Promise<void>;
  /** Returns all readable records. */
  all(): Promise<readonly NetworkRecord[]>;
}
