import type { AllocNetworkStatus } from '@waybill/model';
import type { CniResult } from './cni/cni-plugins.transport.js';
import type { NetworkList, PortMapping } from './cni/network-list.js';
import type { Namespace } from './network-namespaces.store.js';

/**
 * All that finds the network of an allocation again, checks it and takes it down. It is written before the machine is
 * changed and after each step, and removed after the last one, so whatever is left of a network has a record.
 */
export interface NetworkRecord {
  readonly version: 1;
  readonly allocId: string;
  readonly mode: string;
  /** The driver that makes its namespace; empty or absent: the agent does. */
  readonly maker?: string;
  /** As it was made; null: not yet. Absent in records of earlier builds: the one that is found under its name. */
  readonly namespace?: Namespace | null;
  /** As it was when the network was made; null: mode `none`. */
  readonly list: NetworkList | null;
  /** Of CNI (NW-58). */
  readonly args: string;
  readonly portMappings: readonly PortMapping[];
  /** Of the plugins that have run so far; null: none has. */
  readonly result: CniResult | null;
  /** All plugins have run. */
  readonly isReady: boolean;
  /** null: not yet known, or mode `none`. */
  readonly status: AllocNetworkStatus | null;
}

/** Where records of networks are. Implemented on files (network-records.store.ts). */
export interface NetworkRecords {
  load(allocId: string): Promise<NetworkRecord | null>;
  save(record: NetworkRecord): Promise<void>;
  remove(allocId: string): Promise<void>;
  /** All that can be read. */
  all(): Promise<readonly NetworkRecord[]>;
}
