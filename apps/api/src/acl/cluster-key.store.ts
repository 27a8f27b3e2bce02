import { KeyFileError, readKeyFile } from '@waybill/keyring';

const SETTING = 'WAYBILL_ACL_KEY_FILE';

/**
 * Reads the cluster's key (WAYBILL_ACL_KEY_FILE), which encrypts the secrets of tokens. @throws KeyFileError that says
 * what to do
 */
export async function readClusterKey(path: string): Promise<Buffer> {
  if (path === '')
    throw new KeyFileError(
      'WAYBILL_ACL_ENABLED is set and WAYBILL_ACL_KEY_FILE is not: make a key with "openssl rand -hex 32", in a file of mode 600, the same for every API',
    );
  return readKeyFile(path, SETTING);
}
