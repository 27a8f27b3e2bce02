import { z } from 'zod';

/**
 * Where the key is under which root keys are stored. Any text is taken here: what cannot be used is refused where the keyring
 * is opened, because the complaint about a setting quotes it.
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
  WAYBILL_OIDC_ISSUER: z
    .string()
    .refine((text) => text === '' || URL.canParse(text), 'no URL that others can begin with')
    .default('')
    .describe(
      'api, nodes: URL under which others find /.well-known of this cluster, which identities name as their issuer, the same for all; empty: none',
    ),
} as const;
