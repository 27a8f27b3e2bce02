import { randomUUID } from 'node:crypto';
import type { Clock } from '@waybill/model';

export { systemTimers } from '@waybill/model';

export const systemClock: Clock = { nowMs: () => Date.now() };

export const newUuid = (): string => randomUUID();
