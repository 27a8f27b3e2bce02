export interface Constraint {
  LTarget: string;
  RTarget: string;
  Operand: string;
}

/** `Weight` is between -100 and 100, and not 0. */
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
