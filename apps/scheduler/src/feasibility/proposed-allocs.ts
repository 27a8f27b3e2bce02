import type { Allocation, Node } from '@waybill/model';

/** What a check of a group asks of the plan in the making. */
export interface ProposedAllocs {
  /** Allocations that will be on the node, this plan's included (SC-97). */
  proposed(node: Node): readonly Allocation[];
  /** How many allocations of the job (of one group, if named) have this value of a property (SC-63). */
  countByProperty(target: string, value: string, group: string | undefined): number;
}
