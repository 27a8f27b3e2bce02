import { NS_PER_MS } from '@waybill/model/clock';
import { parseDuration } from '@waybill/model/duration';

/** The RFC 3339 time that a flag names: itself, or that long ago (`2h`). */
export function pastTime(text: string, nowMs: number): string {
  const agoNs = parseDuration(text);
  return agoNs === undefined ? text : new Date(nowMs - agoNs / NS_PER_MS).toISOString();
}
