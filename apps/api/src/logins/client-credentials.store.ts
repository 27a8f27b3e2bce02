import type { AuthMethod, ClientAssertionKey, Clock } from '@waybill/model';
import { randomUUID } from 'node:crypto';
import type { Keyring } from '@waybill/keyring';
import type { AccessControl } from '../acl/access-control.js';
import { readKeyFile } from '../acl/assertion-files.store.js';
import type { MethodSecret } from '../acl/method-secrets.js';
import { type AssertionKeys, clientAssertion, ClientAssertionError } from './oidc/client-assertion.js';

/**
 * ClientCredentials has the secrets by which Waybill authenticates to providers. They are in clear only while a call
 * needs them, and never in a log or an answer.
 */
export class ClientCredentials {
  constructor(
    private readonly access: AccessControl,
    private readonly clock: Clock,
    private readonly keyring: Pick<Keyring, 'signJwt'>,
  ) {}

  /** Returns the client secret. It is empty if the method has none. @throws UnsealableError */
  clientSecret({ Name, Config }: AuthMethod): string {
    return this.openSecret('OIDCClientSecret', Name, Config.SealedClientSecret);
  }

  /**
   * Returns the assertion that authenticates Waybill at a token endpoint. It is made anew for each exchange (AU-104).
   * @throws ClientAssertionError
   */
  async assertion(method: AuthMethod): Promise<string> {
    const { Name, Config } = method;
    const assertion = Config.OIDCClientAssertion;
    if (!assertion) throw new ClientAssertionError('the method has no client assertion');
    const key = assertion.PrivateKey;
    const keys: AssertionKeys = {
      clientSecret: this.clientSecret(method),
      privateKey: key ? await this.privateKey(Name, key) : '',
      certificate: key ? await certificateOf(key) : '',
      signWithCluster: (claims, headers) => this.keyring.signJwt(undefined, claims, headers),
    };
    const context = { clientId: Config.OIDCClientID, nowMs: this.clock.nowMs(), newUuid: randomUUID };
    return clientAssertion(assertion, keys, context);
  }

  private async privateKey(method: string, { SealedPemKey, PemKeyFile }: ClientAssertionKey): Promise<string> {
    return PemKeyFile === '' ? this.openSecret('PemKey', method, SealedPemKey) : readPem(PemKeyFile);
  }

  private openSecret(what: MethodSecret, method: string, sealed: string): string {
    return sealed === '' ? '' : this.access.on.methodSecrets.open(what, method, sealed);
  }
}

const certificateOf = async ({ PemCert, PemCertFile }: ClientAssertionKey): Promise<string> =>
  PemCertFile === '' ? PemCert : readPem(PemCertFile);

/** Reads a file. The text of the error tells callers nothing about the server's files. */
async function readPem(file: string): Promise<string> {
  const content = await readKeyFile(file);
  if ('text' in content) return content.text;
  throw new ClientAssertionError('the file of its key or certificate cannot be read on this server');
}
