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
