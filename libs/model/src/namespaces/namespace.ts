import { contentHash } from '../encoding/content-hash.js';
import { MAX_DESCRIPTION_CHARS, NAMESPACE_NAME } from '../limits/name-limits.js';

/** A namespace. `Hash` is base64. */
export interface Namespace {
  Name: string;
  Description: string;
  Quota: string;
  Capabilities: NamespaceCapabilities | null;
  NodePoolConfiguration: null;
  VaultConfiguration: null;
  ConsulConfiguration: null;
  Meta: Record<string, string> | null;
  Hash: string;
  CreateIndex: number;
  ModifyIndex: number;
  RequiredExtraClaims: Record<string, string> | null;
  OptionalExtraClaims: Record<string, string> | null;
}

export interface NamespaceCapabilities {
  EnabledTaskDrivers: string[] | null;
  DisabledTaskDrivers: string[] | null;
  EnabledNetworkModes: string[] | null;
  DisabledNetworkModes: string[] | null;
}

/** The members of a namespace that a user may set. The servers set the others. */
export type NamespaceSpecification = Omit<Namespace, 'Hash' | 'CreateIndex' | 'ModifyIndex'>;

/** This namespace always exists. Its description can be changed, but it cannot be deleted (OP-175). */
export const DEFAULT_NAMESPACE = 'default';

/** Returns the problems of a namespace specification (OP-178). */
export function namespaceProblems({ Name, Description }: Pick<Namespace, 'Name' | 'Description'>): string[] {
  const problems: string[] = [];
  if (!NAMESPACE_NAME.test(Name)) problems.push(`invalid name "${Name}". Must match regex ${NAMESPACE_NAME.source}`);
  if (Array.from(Description).length > MAX_DESCRIPTION_CHARS)
    problems.push(`description longer than ${MAX_DESCRIPTION_CHARS}`);
  return problems;
}

/** Two namespaces with the same specification have the same hash, whatever the order of their members. */
export const namespaceHash = (namespace: NamespaceSpecification): string => contentHash(namespace);
