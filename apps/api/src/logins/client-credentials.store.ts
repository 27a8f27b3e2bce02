import type { AuthMethod, ClientAssertionKey, Clock } from '@waybill/model';
import { randomUUID } from 'node:crypto';
import type { AccessControl } from '../acl/access-control.js';
import { readKeyFile } from '../acl/assertion-files.store.js';
import type { MethodSecret } from '../acl/method-secrets.js';
import { clientAssertion, ClientAssertionError } from './oidc/client-assertion.js';

/** By what Waybill says at providers who it is: secrets in clear, for as long as a call needs them. Never logged or answered. */
export class ClientCredentials {
  constructor(
    private readonly access: AccessControl,
    private readonly clock: Clock,
  ) {}

  /** Empty: the method has none. @throws UnsealableError */
  clientSecret({ Name, Config }: AuthMethod): string {
    return this.opened('OIDCClientSecret', Name, Config.SealedClientSecret);
  }

  /** What says at a token endpoint who Waybill is; made anew for each exchange (AU-104). @throws ClientAssertionError */
  async assertion(method: AuthMethod): Promise<string> {
    const { Name, Config } = method;
    const assertion = Config.OIDCClientAssertion;
    if (!assertion) throw new ClientAssertionError('the method has no client assertion');
    const key = assertion.PrivateKey;
    const keys = {
      clientSecret: this.clientSecret(method),
      privateKey: key ? await this.privateKey(Name, key) : '',
      certificate: key ? await certificateOf(key) : '',
    };
    const context = { clientId: Config.OIDCClientID, nowMs: this.clock.nowMs(), newUuid: randomUUID };
    return clientAssertion(assertion, keys, context);
  }

  private async privateKey(method: string, { SealedPemKey, PemKeyFile }: ClientAssertionKey): Promise<string> {
    return PemKeyFile === '' ? this.opened('PemKey', method, SealedPemKey) : readPem(PemKeyFile);
  }

  private opened(what: MethodSecret, method: string, sealed: string): string {
    return sealed === '' ? '' : this.access.on.methodSecrets.open(what, method, sealed);
  }
}

const certificateOf = async ({ PemCert, PemCertFile }: ClientAssertionKey): Promise<string> =>
  PemCertFile === '' ? PemCert : readPem(PemCertFile);

/** The text tells callers nothing of the server's files. */
async function readPem(file: string): Promise<string> {
  const content = await readKeyFile(file);
  if ('text' in content) return content.text;
  throw new ClientAssertionError('the file of its key or certificate cannot be read on this server');
}
