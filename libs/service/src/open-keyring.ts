import {
  AeadWrapper,
  type Entropy,
  KeyFileError,
  keyFromText,
  Keyring,
  KeyServiceError,
  type KeyWrapper,
  readKeyFile,
  type RootKeys,
  TokenRenewal,
  tokenOverHttp,
  transitOverHttp,
  TransitWrapper,
} from '@waybill/keyring';
import { backgroundTimers, errorText, pause } from '@waybill/model';
import { readFile } from 'node:fs/promises';
import type { ServiceContext } from './definition.js';
import type { KEYRING_SETTINGS } from './keyring-settings.js';
import type { Settings } from './settings.js';

type KeyringSettings = Pick<Settings, Exclude<keyof typeof KEYRING_SETTINGS, 'WAYBILL_OIDC_ISSUER'>>;
type Process = Pick<ServiceContext, 'clock' | 'timers' | 'logger' | 'entropy'>;

/** Milliseconds in which a service logs an unusable root key at most once. */
const UNUSABLE_LOG_MS = 60_000;

/** The settings of the keyring contradict each other or are unusable. */
export class KeyringSettingsError extends Error {
  override readonly name = 'KeyringSettingsError';
}

/** The wrappers of root keys. */
export interface KeyWrappers {
  /** Wraps new root keys. Undefined if none is configured, and then the keyring is disabled. */
  readonly wrapper: KeyWrapper | undefined;
  /** Unwraps root keys that a former wrapper wrapped. */
  readonly formerWrapper: KeyWrapper | undefined;
}

/** @throws KeyFileError, KeyringSettingsError with the next step */
export async function keyWrappersOf(settings: KeyringSettings, process: Process): Promise<KeyWrappers> {
  const aead = await aeadWrapperOf(settings, process.entropy);
  const transit = await transitWrapperOf(settings, process);
  const { WAYBILL_KEYRING_WRAPPER: chosen } = settings;
  if (chosen === '') {
    if (aead && transit)
      throw new KeyringSettingsError(
        'a wrapping key and WAYBILL_KEYRING_TRANSIT_URL are both set: say with WAYBILL_KEYRING_WRAPPER=aead or =transit which of them wraps new root keys',
      );
    return { wrapper: aead ?? transit, formerWrapper: undefined };
  }
  const [wrapper, formerWrapper] = chosen === 'transit' ? [transit, aead] : [aead, transit];
  if (!wrapper)
    throw new KeyringSettingsError(
      `WAYBILL_KEYRING_WRAPPER is ${chosen}: set ${chosen === 'transit' ? 'WAYBILL_KEYRING_TRANSIT_URL' : 'WAYBILL_KEYRING_KEY_FILE'} too`,
    );
  return { wrapper, formerWrapper };
}

async function aeadWrapperOf(settings: KeyringSettings, entropy: Entropy): Promise<KeyWrapper | undefined> {
  const { WAYBILL_KEYRING_KEY_FILE: file, WAYBILL_KEYRING_KEY: text } = settings;
  if (file !== '' && text !== '')
    throw new KeyFileError('WAYBILL_KEYRING_KEY_FILE and WAYBILL_KEYRING_KEY are both set: leave one of them out');
  if (file !== '') return new AeadWrapper(await readKeyFile(file, 'WAYBILL_KEYRING_KEY_FILE'), entropy);
  if (text === '') return undefined;
  const key = keyFromText(text);
  if (!key)
    throw new KeyFileError(
      'WAYBILL_KEYRING_KEY is no key: 32 bytes in hexadecimal or base64, such as "openssl rand -hex 32" prints',
    );
  return new AeadWrapper(key, entropy);
}

async function transitWrapperOf(settings: KeyringSettings, process: Process): Promise<KeyWrapper | undefined> {
  if (settings.WAYBILL_KEYRING_TRANSIT_URL === '') return undefined;
  const { clock, timers, logger } = process;
  const address = {
    url: transitUrl(settings.WAYBILL_KEYRING_TRANSIT_URL),
    mount: settings.WAYBILL_KEYRING_TRANSIT_MOUNT,
    key: settings.WAYBILL_KEYRING_TRANSIT_KEY,
    namespace: settings.WAYBILL_KEYRING_TRANSIT_NAMESPACE,
    token: transitToken(settings),
    authorities: await authoritiesIn(settings.WAYBILL_KEYRING_TRANSIT_CA_FILE),
  };
  const wrapper = new TransitWrapper({
    call: transitOverHttp(address),
    nowMs: () => clock.nowMs(),
    pause: (ms) => pause(timers, ms),
  });
  wrapper.wrap(PROBE, PROBE).then(
    () => logger.info('the key management service wraps and unwraps root keys', { service: address.url.origin }),
    (error: unknown) =>
      logger.error('the key management service cannot be used; root keys that are not unwrapped yet wait for it', {
        service: address.url.origin,
        error,
      }),
  );
  // Lives as long as the process, which it does not keep alive.
  void new TokenRenewal({
    token: address.token,
    call: tokenOverHttp(address),
    timers: backgroundTimers,
    logger: {
      info: (message, fields) => logger.info(message, { ...fields }),
      warn: (message, fields) => logger.warn(message, { ...fields }),
    },
  }).start();
  return wrapper;
}

/** Text that is wrapped and unwrapped at the start of a service, to find a wrong setting. */
const PROBE = 'waybill probe';
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

function transitUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
  if (!url || !isSafe || url.username !== '' || url.search !== '' || url.hash !== '')
    throw new KeyringSettingsError(
      'WAYBILL_KEYRING_TRANSIT_URL is no URL such as https://vault.example:8200; http:// is for this machine only, because the token and root keys cross the network',
    );
  return url;
}

const TOKEN = /^[\x21-\x7e]{1,4096}$/;

function transitToken(settings: KeyringSettings): () => Promise<string> {
  const { WAYBILL_KEYRING_TRANSIT_TOKEN: token, WAYBILL_KEYRING_TRANSIT_TOKEN_FILE: file } = settings;
  if ((token === '') === (file === ''))
    throw new KeyringSettingsError(
      'set either WAYBILL_KEYRING_TRANSIT_TOKEN_FILE or WAYBILL_KEYRING_TRANSIT_TOKEN: the transit engine wants a token',
    );
  if (file !== '') return () => tokenIn(file);
  if (!TOKEN.test(token)) throw new KeyringSettingsError('WAYBILL_KEYRING_TRANSIT_TOKEN is no token');
  return () => Promise.resolve(token);
}

/** @throws KeyServiceError because the file may exist later */
async function tokenIn(file: string): Promise<string> {
  const token = await readFile(file, 'latin1').catch((cause: unknown) => {
    throw new KeyServiceError('the file of WAYBILL_KEYRING_TRANSIT_TOKEN_FILE cannot be read', { cause });
  });
  if (!TOKEN.test(token.trim()))
    throw new KeyServiceError('the file of WAYBILL_KEYRING_TRANSIT_TOKEN_FILE holds no token');
  return token.trim();
}

async function authoritiesIn(file: string): Promise<readonly string[]> {
  if (file === '') return [];
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new KeyringSettingsError(`WAYBILL_KEYRING_TRANSIT_CA_FILE ${file} cannot be read: ${errorText(cause)}`);
  });
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new KeyringSettingsError(`WAYBILL_KEYRING_TRANSIT_CA_FILE ${file} holds no certificate in PEM`);
  return [text];
}

/**
 * Opens the keyring of a service. The ID of a stored key that cannot be used here is logged. @throws KeyFileError,
 * KeyringSettingsError
 */
export async function openKeyring(
  { settings, clock, timers, logger, entropy }: Process & Pick<ServiceContext, 'settings'>,
  keys: RootKeys,
): Promise<Keyring> {
  const loggedAtMs = new Map<string, number>();
  return new Keyring({
    ...(await keyWrappersOf(settings, { clock, timers, logger, entropy })),
    keys,
    entropy,
    nowMs: () => clock.nowMs(),
    onUnusable: (keyId, error) => {
      const nowMs = clock.nowMs();
      if (nowMs - (loggedAtMs.get(keyId) ?? -Infinity) < UNUSABLE_LOG_MS) return;
      loggedAtMs.set(keyId, nowMs);
      const isAway = error.cause instanceof KeyServiceError;
      logger.error(`a root key cannot be used${isAway ? '' : ': is the wrapping key the right one?'}`, {
        keyId,
        error,
      });
    },
  });
}
