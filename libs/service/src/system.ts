import { randomUUID } from 'node:crypto';
import type { Clock, Timers } from '@waybill/model';

export const systemClock: Clock = { nowMs: () => Date.now() };

/** Node's timers take no more than this; a longer delay is waited for in several. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export const systemTimers: Timers = {
  after(delayMs, run) {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number): void => {
      timer = setTimeout(
        () => (leftMs > MAX_TIMEOUT_MS ? wait(leftMs - MAX_TIMEOUT_MS) : run()),
        Math.min(leftMs, MAX_TIMEOUT_MS),
      );
    };
    wait(delayMs);
    return () => clearTimeout(timer);
  },
};

export const newUuid = (): string => randomUUID();
