import path from 'node:path';
import { readKeyFile } from '@waybill/keyring';
import type { Settings } from '@waybill/service';
import { AccessControl } from './access-control.js';
import { BootstrapReset } from './bootstrap-reset.store.js';
import { readClusterKey } from './cluster-key.store.js';
import { LoginHosts } from './login-hosts.js';
import { MethodSecrets } from './method-secrets.js';
import { TokenSecrets } from './token-secrets.js';

/**
 * Returns the access control that the settings describe. @throws KeyFileError if it is on and its key cannot be used
 */
export async function accessControlOf(settings: Settings): Promise<AccessControl> {
  if (!settings.WAYBILL_ACL_ENABLED) return new AccessControl(undefined);
  const keyFile = settings.WAYBILL_ACL_KEY_FILE;
  const key = await readClusterKey(keyFile);
  const otherFile = settings.WAYBILL_ACL_OTHER_KEY_FILE;
  const other = otherFile === '' ? undefined : await readKeyFile(otherFile, 'WAYBILL_ACL_OTHER_KEY_FILE');
  return new AccessControl({
    secrets: new TokenSecrets(key, undefined, other && new TokenSecrets(other)),
    methodSecrets: new MethodSecrets(key, other && new MethodSecrets(other)),
    limits: {
      minTtlNs: settings.WAYBILL_ACL_TOKEN_MIN_EXPIRATION_TTL,
      maxTtlNs: settings.WAYBILL_ACL_TOKEN_MAX_EXPIRATION_TTL,
    },
    reset: new BootstrapReset(settings.WAYBILL_ACL_DIR || path.dirname(keyFile)),
    loginHosts: new LoginHosts(settings.WAYBILL_ACL_LOGIN_ALLOWED_HOSTS),
  });
}
