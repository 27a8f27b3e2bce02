import { z } from 'zod';

/**
 * Settings of the key that wraps root keys. Any text is accepted here. An invalid one is refused when the keyring is
 * opened, because an error about a setting would quote it.
 */
export const KEYRING_SETTINGS = {
  WAYBILL_KEYRING_KEY_FILE: z
    .string()
    .default('')
    .describe(
      'api, nodes, broker: file with the key that wraps root keys: 32 bytes in hexadecimal or base64, the same for all of them; empty: no variables, no identities',
    ),
  WAYBILL_KEYRING_KEY: z
    .string()
    .default('')
    .describe('api, nodes, broker: that key itself, where there are no files for it'),
  WAYBILL_KEYRING_TRANSIT_URL: z
    .string()
    .default('')
    .describe(
      'api, nodes, broker: URL of the Vault or OpenBao whose transit engine wraps root keys, https unless it is on this machine; empty: none',
    ),
  WAYBILL_KEYRING_TRANSIT_KEY: z.string().default('waybill').describe('name of the key of the transit engine'),
  WAYBILL_KEYRING_TRANSIT_MOUNT: z.string().default('transit').describe('path of the transit engine'),
  WAYBILL_KEYRING_TRANSIT_NAMESPACE: z.string().default('').describe('namespace of the transit engine; empty: none'),
  WAYBILL_KEYRING_TRANSIT_TOKEN: z.string().default('').describe('token for the transit engine'),
  WAYBILL_KEYRING_TRANSIT_TOKEN_FILE: z
    .string()
    .default('')
    .describe('file with that token, read for each request, so that another program may renew it'),
  WAYBILL_KEYRING_TRANSIT_CA_FILE: z
    .string()
    .default('')
    .describe("certificates that sign the transit engine's; empty: those of the system"),
  WAYBILL_KEYRING_WRAPPER: z
    .enum(['', 'aead', 'transit'])
    .default('')
    .describe(
      'api, nodes, broker: aead (the key from file or environment) or transit: what wraps new root keys if both are configured; the other one unwraps, and the broker wraps its root keys anew',
    ),
  WAYBILL_OIDC_ISSUER: z
    .string()
    .refine((text) => text === '' || URL.canParse(text), 'no URL that others can begin with')
    .default('')
    .describe(
      'api, nodes: URL under which others find /.well-known of this cluster, which identities name as their issuer, the same for all; empty: none',
    ),
} as const;
