export interface Constraint {
  LTarget: string;
  RTarget: string;
  Operand: string;
}

/** `Weight` -100..100, not 0. */
export interface Affinity {
  LTarget: string;
  RTarget: string;
  Operand: string;
  Weight: number;
}

export interface Spread {
  Attribute: string;
  Weight: number;
  SpreadTarget: SpreadTarget[] | null;
}

export interface SpreadTarget {
  Value: string;
  Percent: number;
}
