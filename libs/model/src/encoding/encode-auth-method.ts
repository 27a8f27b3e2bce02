import type { AuthMethod, AuthMethodConfig, ClientAssertion, ClientAssertionKey } from '../acl/auth-method.js';
import { formatDuration } from '../time/duration.js';
import type { WireObject } from './wire-object.js';

/**
 * Placeholder for a secret in every response and event. A client that sends it back keeps the stored secret (AU-26).
 */
export const REDACTED = 'redacted';

/**
 * Encodes an auth method for clients. A secret that is set reads `redacted`, and one that is not set is empty (AU-25).
 */
export function encodeAuthMethod(method: AuthMethod): WireObject {
  const { MaxTokenTTL, Config, ...rest } = method;
  return { ...rest, MaxTokenTTL: formatDuration(MaxTokenTTL), Config: encodeConfig(Config) };
}

/** Encodes an auth method for the list, which anybody may read, so it has no configuration (AU-3). */
export function encodeAuthMethodStub(method: AuthMethod): WireObject {
  const { Name, Type, Default, Hash, CreateIndex, ModifyIndex } = method;
  return { Name, Type, Default, Hash, CreateIndex, ModifyIndex };
}

function encodeConfig(config: AuthMethodConfig): WireObject {
  const { SealedClientSecret, OIDCClientAssertion, ExpirationLeeway, NotBeforeLeeway, ClockSkewLeeway, ...rest } =
    config;
  return {
    ...rest,
    OIDCClientSecret: redactedOf(SealedClientSecret),
    OIDCClientAssertion: OIDCClientAssertion && encodeAssertion(OIDCClientAssertion),
    ExpirationLeeway: leewayText(ExpirationLeeway),
    NotBeforeLeeway: leewayText(NotBeforeLeeway),
    ClockSkewLeeway: leewayText(ClockSkewLeeway),
  };
}

const encodeAssertion = ({ PrivateKey, ...rest }: ClientAssertion): WireObject => ({
  ...rest,
  PrivateKey: PrivateKey && encodeKey(PrivateKey),
});

const encodeKey = ({ SealedPemKey, ...rest }: ClientAssertionKey): WireObject => ({
  PemKey: redactedOf(SealedPemKey),
  ...rest,
});

const redactedOf = (sealed: string): string => (sealed === '' ? '' : REDACTED);
const leewayText = (ns: number): string => (ns === 0 ? '' : formatDuration(ns));
