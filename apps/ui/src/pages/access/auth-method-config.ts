import { NotDone } from '../../api/api-failure.js';
import type { ACLAuthMethod } from '../../api/contract.js';

/** The members that a method of each kind needs, with values to replace. */
export const CONFIG_EXAMPLES: Readonly<Record<ACLAuthMethod['Type'], object>> = {
  OIDC: {
    OIDCDiscoveryURL: 'https://login.example.org',
    OIDCClientID: 'waybill',
    OIDCClientSecret: 'the secret of the client',
    OIDCScopes: ['groups'],
    AllowedRedirectURIs: ['http://localhost:4649/oidc/callback'],
    ListClaimMappings: { groups: 'groups' },
  },
  JWT: {
    JWKSURL: 'https://ci.example.org/keys',
    BoundAudiences: ['waybill'],
    ClaimMappings: { project: 'project' },
  },
};

/** Writes a configuration as JSON for people, without the members that have no value. */
export function configText(config: object): string {
  const set = Object.entries(config).filter(([, value]) => !isEmpty(value));
  return `${JSON.stringify(Object.fromEntries(set), undefined, 2)}\n`;
}

/** Members without a value, a leeway of the default length and a flag that is off say nothing. */
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === '' ||
  value === false ||
  value === '0s' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** @throws NotDone if the text is no object of JSON; the server checks its members */
export function readConfig(text: string): object {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw new NotDone(`The configuration is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new NotDone('The configuration is not an object. Put its members between { and }.');
  return read;
}
