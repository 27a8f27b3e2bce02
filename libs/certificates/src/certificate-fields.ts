import { randomBytes } from 'node:crypto';

const SERIAL_BYTES = 16;

/** A random serial number in hexadecimal digits: positive, and too long to be met twice (RFC 5280, 4.1.2.2). */
export function newSerial(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40; // the first bit would make it negative, a zero byte in front is not allowed
  return bytes.toString('hex');
}

const DAY_MS = 86_400_000;
/** Machines whose clocks are behind by less than this take a new certificate at once. */
const CLOCK_SKEW_MS = 60_000;

/** From just before now, for so many days. */
export function validity(nowMs: number, days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(nowMs - CLOCK_SKEW_MS), notAfter: new Date(nowMs + days * DAY_MS) };
}
