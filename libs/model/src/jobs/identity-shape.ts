import type { WorkloadIdentity } from './shared-blocks.js';
import { boolean, duration, list, string, type Shape } from '../encoding/wire-shape.js';

export const identityShape: Shape<WorkloadIdentity> = {
  name: 'WorkloadIdentity',
  fields: {
    Name: string(),
    Audience: list(string()),
    ChangeMode: string(),
    ChangeSignal: string(),
    Env: boolean(),
    File: boolean(),
    Filepath: string(),
    ServiceName: string(),
    TTL: duration(),
    ExtraClaims: list(string()),
  },
};
