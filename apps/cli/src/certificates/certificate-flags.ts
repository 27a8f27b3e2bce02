import { isIP } from 'node:net';
import { FlagFailure } from '../failure.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

/** Longest validity, because no clock of a certificate is reliable for longer. */
const MAX_DAYS = 36_500;
/** A label of a name, which also becomes part of a file name. */
const LABELS = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,126}[A-Za-z0-9])?$/;
/** A host name. Its first label may be a wildcard. */
const DNS_NAME = /^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/;

/** @throws FlagFailure */
export function daysOf(flags: ParsedFlags, fallback: number): number {
  const days = flags.integer('days') ?? fallback;
  if (days >= 1 && days <= MAX_DAYS) return days;
  throw new FlagFailure(`invalid value "${days}" for flag -days: a number from 1 to ${MAX_DAYS}`);
}

/** Returns the value of -region or -domain. @throws FlagFailure */
export function labelsOf(flags: ParsedFlags, flag: string, fallback: string): string {
  const text = flags.text(flag) ?? fallback;
  if (LABELS.test(text)) return text;
  throw new FlagFailure(`invalid value "${text}" for flag -${flag}: letters, digits, "-", "_" and "." only`);
}

/** @throws FlagFailure */
export function dnsNamesOf(flags: ParsedFlags, flag: string): readonly string[] {
  const names = flags.list(flag);
  for (const name of names)
    if (!DNS_NAME.test(name) || isIP(name) !== 0)
      throw new FlagFailure(`invalid value "${name}" for flag -${flag}: a DNS name such as waybill.example.com`);
  return names;
}

/** @throws FlagFailure */
export function addressesOf(flags: ParsedFlags, flag: string): readonly string[] {
  const addresses = flags.list(flag);
  for (const address of addresses)
    if (isIP(address) === 0) throw new FlagFailure(`invalid value "${address}" for flag -${flag}: an IP address`);
  return addresses;
}

/** Returns the files that `tls ca create` writes and `tls cert create` reads. */
export const authorityFiles = (domain: string) => ({
  certificate: `${domain}-agent-ca.pem`,
  key: `${domain}-agent-ca-key.pem`,
});
