/**
 * KeyServiceError says that a key management service gave no verdict on a root key: it is out of reach, sealed or busy,
 * or it refuses its caller. Clients see the message too, so it names neither an address nor a token.
 */
export class KeyServiceError extends Error {
  override readonly name = 'KeyServiceError';
}
