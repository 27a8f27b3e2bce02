import {
  AeadWrapper,
  KeyFileError,
  keyFromText,
  Keyring,
  type KeyWrapper,
  readKeyFile,
  type RootKeys,
} from '@waybill/keyring';
import type { ServiceContext } from './definition.js';
import type { Settings } from './settings.js';

type KeyringSettings = Pick<Settings, 'WAYBILL_KEYRING_KEY_FILE' | 'WAYBILL_KEYRING_KEY'>;

/** What wraps root keys here; undefined: nothing is configured, and the keyring is off. @throws KeyFileError saying what to do */
export async function keyWrapperOf(settings: KeyringSettings): Promise<KeyWrapper | undefined> {
  const { WAYBILL_KEYRING_KEY_FILE: file, WAYBILL_KEYRING_KEY: text } = settings;
  if (file !== '' && text !== '')
    throw new KeyFileError('WAYBILL_KEYRING_KEY_FILE and WAYBILL_KEYRING_KEY are both set: leave one of them out');
  if (file !== '') return new AeadWrapper(await readKeyFile(file, 'WAYBILL_KEYRING_KEY_FILE'));
  if (text === '') return undefined;
  const key = keyFromText(text);
  if (!key)
    throw new KeyFileError(
      'WAYBILL_KEYRING_KEY is no key: 32 bytes in hexadecimal or base64, such as "openssl rand -hex 32" prints',
    );
  return new AeadWrapper(key);
}

/** The keyring of a service. A stored key that cannot be used here is logged by its ID. @throws KeyFileError */
export async function openKeyring(
  { settings, clock, logger }: Pick<ServiceContext, 'settings' | 'clock' | 'logger'>,
  keys: RootKeys,
): Promise<Keyring> {
  return new Keyring({
    wrapper: await keyWrapperOf(settings),
    keys,
    nowMs: () => clock.nowMs(),
    onUnusable: (keyId, error) =>
      logger.error('a root key cannot be used: is the wrapping key the right one?', { keyId, error }),
  });
}
