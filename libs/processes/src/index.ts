export { CannotCreateDirectoryError, type DirectoryWish, makeDirectory, makeDirectorySync } from './make-directory.js';
export { LockHeldError, takeLock } from './lock-file.js';
export { bootId, identityOf, isAlive, isErrno, type ProcessIdentity, sendSignal } from './process-identity.js';
