import { createDecipheriv, hkdfSync } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The private parts of a root key. */
interface RootSecret {
  readonly AES256: string;
  readonly RSA: string;
}

/**
 * Unwraps root keys and decrypts items, for the judgement. It shares no code with the product: the form of what is stored
 * is that of OP-204 and OP-210, the nonce, the ciphertext and the tag in base64.
 */
export class Vault {
  private readonly wrappingKey: Buffer;
  private readonly secrets = new Map<string, RootSecret>();

  /** @param clusterKey in hexadecimal */
  constructor(clusterKey: string) {
    const purpose = 'waybill keyring wrapping';
    this.wrappingKey = Buffer.from(hkdfSync('sha256', Buffer.from(clusterKey, 'hex'), Buffer.alloc(0), purpose, 32));
  }

  /** @returns whether the wrapped parts are those of a root key with this ID */
  learn(keyId: string, wrapped: string): boolean {
    const text = decrypted(this.wrappingKey, keyId, wrapped);
    if (text === undefined) return false;
    const secret = JSON.parse(text) as RootSecret;
    this.secrets.set(keyId, secret);
    this.forbidden.add(secret.AES256).add(secret.RSA);
    return true;
  }

  /** The items as JSON; undefined if they are not those of this variable under this key. */
  open(keyId: string, namespace: string, path: string, data: string): string | undefined {
    const secret = this.secrets.get(keyId);
    if (!secret) return undefined;
    return decrypted(Buffer.from(secret.AES256, 'base64'), JSON.stringify([keyId, namespace, path]), data);
  }

  /** The private parts of root keys, which nobody may find in the log, in Postgres, in events or in archives. */
  readonly forbidden = new Set<string>();
}

function decrypted(key: Buffer, owner: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
