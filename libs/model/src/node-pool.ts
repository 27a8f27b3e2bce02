/** `NodeIdentityTTL` in nanoseconds; `Hash` base64. */
export interface NodePool {
  Name: string;
  Description: string;
  Meta: Record<string, string> | null;
  SchedulerConfiguration: { SchedulerAlgorithm: string; MemoryOversubscriptionEnabled: boolean | null } | null;
  NodeIdentityTTL: number;
  Hash: string;
  CreateIndex: number;
  ModifyIndex: number;
}

/** `default` and `all` always exist and cannot be deleted or changed. */
export function isBuiltInNodePool(name: string): boolean {
  return name === 'default' || name === 'all';
}
