/** The use of an introduction token that is good for one new node (AU-201). */
export interface NodeIntroduction {
  /** The token's `jti`. It is no secret. */
  TokenID: string;
  NodeID: string;
  /** Unix ns. The token has expired by then, so nothing has to be remembered about it. */
  KeepUntil: number;
  CreateIndex: number;
  ModifyIndex: number;
}

export type NodeIntroductionSpecification = Omit<NodeIntroduction, 'CreateIndex' | 'ModifyIndex'>;
