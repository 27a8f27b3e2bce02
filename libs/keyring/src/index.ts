export { readKeyFile, KeyFileError, keyFromText } from './key-file.js';
export { derivedKey, KEY_BYTES, NONCE_BYTES, openText, sealText } from './sealing.js';
export { AeadWrapper, type KeyWrapper } from './key-wrapper.js';
export { newRootKey, type NewRootKey } from './root-key-material.js';
export { Keyring, KeyringError, type KeyringDeps, type PublicJwk, type RootKeys } from './keyring.js';
export { type Items, type Owner, type SealedItems } from './sealed-items.js';
export { type Claims, TokenRefusedError } from './identity-tokens.js';
