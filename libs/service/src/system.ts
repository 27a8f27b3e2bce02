import { randomUUID } from 'node:crypto';
import type { Clock, Timers } from '@waybill/model';

export const systemClock: Clock = { nowMs: () => Date.now() };

export const systemTimers: Timers = {
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

export const newUuid = (): string => randomUUID();
