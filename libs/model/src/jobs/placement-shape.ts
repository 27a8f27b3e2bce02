import type { Affinity, Constraint, Spread, SpreadTarget } from './placement-rules.js';
import { int8, list, present, string, uint8, type Shape } from '../encoding/wire-shape.js';

export const constraintShape: Shape<Constraint> = {
  name: 'Constraint',
  fields: { LTarget: string(), RTarget: string(), Operand: string() },
};

export const affinityShape: Shape<Affinity> = {
  name: 'Affinity',
  fields: { LTarget: string(), RTarget: string(), Operand: string(), Weight: int8(50) },
};

const spreadTargetShape: Shape<SpreadTarget> = {
  name: 'SpreadTarget',
  fields: { Value: string(), Percent: uint8() },
};

export const spreadShape: Shape<Spread> = {
  name: 'Spread',
  fields: { Attribute: string(), Weight: int8(50), SpreadTarget: list(present(spreadTargetShape)) },
};
