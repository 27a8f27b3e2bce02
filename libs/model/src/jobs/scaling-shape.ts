import type { ScalingPolicy } from './shared-blocks.js';
import {
  boolean,
  derived,
  filledString,
  freeform,
  int,
  map,
  serverOwned,
  string,
  type Shape,
} from '../encoding/wire-shape.js';

/** A missing `Max` becomes -1, which validation refuses (API-310). */
export const scalingShape: Shape<ScalingPolicy> = {
  name: 'ScalingPolicy',
  fields: {
    ID: serverOwned(''),
    Type: filledString('horizontal'),
    Target: derived(map(string())),
    Policy: freeform(),
    Min: int(),
    Max: int(-1),
    Enabled: boolean(true),
    CreateIndex: serverOwned(0),
    ModifyIndex: serverOwned(0),
  },
};
