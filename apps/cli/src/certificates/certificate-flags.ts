import { isIP } from 'node:net';
import { FlagFailure } from '../failure.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

/** More is longer than any clock in certificates can be trusted with. */
const MAX_DAYS = 36_500;
/** A part of a name that also is part of the name of a file. */
const LABELS = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,126}[A-Za-z0-9])?$/;
/** A name of a host, the first part of which may stand for any. */
const DNS_NAME = /^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/;

/** @throws FlagFailure */
export function daysOf(flags: ParsedFlags, fallback: number): number {
  const days = flags.integer('days') ?? fallback;
  if (days >= 1 && days <= MAX_DAYS) return days;
  throw new FlagFailure(`invalid value "${days}" for flag -days: a number from 1 to ${MAX_DAYS}`);
}

/** The value of -region or -domain. @throws FlagFailure */
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

/** Where `tls ca create` writes a CA, and `tls cert create` looks for it. */
export const authorityFiles = (domain: string) => ({
  certificate: `${domain}-agent-ca.pem`,
  key: `${domain}-agent-ca-key.pem`,
});
