import { contentHash } from '../encoding/content-hash.js';
import { MAX_DESCRIPTION_CHARS, NAMESPACE_NAME } from '../limits/name-limits.js';

/** `Hash` base64. */
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

/** What a user says of a namespace; the rest the servers know. */
export type NamespaceSpecification = Omit<Namespace, 'Hash' | 'CreateIndex' | 'ModifyIndex'>;

/** Always there; may be described, not deleted (OP-175). */
export const DEFAULT_NAMESPACE = 'default';

/** OP-178: what is wrong with a namespace as given. */
export function namespaceProblems({ Name, Description }: Pick<Namespace, 'Name' | 'Description'>): string[] {
  const problems: string[] = [];
  if (!NAMESPACE_NAME.test(Name)) problems.push(`invalid name "${Name}". Must match regex ${NAMESPACE_NAME.source}`);
  if (Array.from(Description).length > MAX_DESCRIPTION_CHARS)
    problems.push(`description longer than ${MAX_DESCRIPTION_CHARS}`);
  return problems;
}

/** Equal for namespaces that say the same, whatever the order of their members. */
export const namespaceHash = (namespace: NamespaceSpecification): string => contentHash(namespace);
