import type { Allocation, Node } from '@waybill/model';

/** The plan in progress, as checks of a group need it. */
export interface ProposedAllocs {
  /** Allocations that will be on the node, including those of this plan (SC-97). */
  proposed(node: Node): readonly Allocation[];
  /** Number of allocations of the job (of one group, if named) with this value of a property (SC-63). */
  countByProperty(target: string, value: string, group: string | undefined): number;
}
