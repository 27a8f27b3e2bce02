import { isHealthyCanary, requiresPromotion, type Allocation, type Deployment } from '@waybill/model';

/**
 * Whether every group with canaries promotes automatically and has enough of them healthy; groups without canaries do
 * not count (DP-858 to DP-860). O(canaries ever placed).
 */
export function mayAutoPromote(deployment: Deployment, allocOf: (id: string) => Allocation | undefined): boolean {
  if (!requiresPromotion(deployment)) return false;
  const withCanaries = Object.values(deployment.TaskGroups).filter((state) => state.DesiredCanaries > 0);
  return withCanaries.every((state) => {
    if (!state.AutoPromote || state.PlacedCanaries.length < state.DesiredCanaries) return false;
    const healthy = state.PlacedCanaries.filter((id) => {
      const alloc = allocOf(id);
      return alloc !== undefined && isHealthyCanary(alloc);
    });
    return healthy.length >= state.DesiredCanaries;
  });
}
