import { type Authenticator, tokenAuthenticator } from '@nats-io/transport-node';

export interface ConnectionProof {
  /**
   * Returns the text by which services admit this connection, where nats-server does not know its key (AU-264). Called for
   * each attempt to connect.
   */
  readonly text: () => string;
  /** Called when no proof can be made: at the first failure, and again when the message changes. */
  readonly onError: (error: unknown) => void;
}

/**
 * Sends the proof. Without one it sends an empty text: the server refuses it, and the client tries again. The client
 * would close its connection for good if an authenticator threw.
 */
export function proofAuthenticator({ text, onError }: ConnectionProof): Authenticator {
  let reported: string | undefined;
  return tokenAuthenticator(() => {
    try {
      const made = text();
      reported = undefined;
      return made;
    } catch (error) {
      const message = String(error);
      if (message !== reported) onError(error);
      reported = message;
      return '';
    }
  });
}
