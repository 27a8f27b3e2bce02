import { Module } from '@nestjs/common';
import { AccessControl } from '../acl/access-control.js';
import { AclModule } from '../acl/acl.module.js';
import { made } from '../core.module.js';
import { KeySources } from './jwt/key-sources.js';
import { NatsUsedLogins } from './jwt/used-logins.store.js';
import { JwtLogins } from './jwt-logins.js';
import { LoginsController } from './logins.controller.js';
import { ClientCredentials } from './client-credentials.store.js';
import { NatsPendingLogins } from './oidc/pending-logins.store.js';
import { OidcLogins } from './oidc-logins.js';
import { callsTo } from './outside-calls.transport.js';
import { LoginTokens } from './login-tokens.js';

/** Returns calls that reach only the hosts which logins may call. */
const callsOf = (access: AccessControl) => callsTo((url) => access.on.loginHosts.allows(url));

@Module({
  imports: [AclModule],
  controllers: [LoginsController],
  providers: [
    made(
      LoginTokens,
      ({ model, writes, context: { logger } }, access) => new LoginTokens({ model, writes, access, logger }),
      AccessControl,
    ),
    made(
      KeySources,
      ({ context: { clock, metrics } }, access) => new KeySources({ clock, metrics, fetchWith: callsOf(access) }),
      AccessControl,
    ),
    made(
      JwtLogins,
      ({ model, context: { clock, link, settings } }, keys, tokens, access) => {
        const used = new NatsUsedLogins(link, clock, (secret) => access.on.secrets.hashes(secret));
        return new JwtLogins({ model, keys, tokens, clock, ...(settings.WAYBILL_ACL_LOGIN_SINGLE_USE && { used }) });
      },
      KeySources,
      LoginTokens,
      AccessControl,
    ),
    made(
      OidcLogins,
      ({ model, parts: { keyring }, context: { clock, link } }, keys, tokens, access) =>
        new OidcLogins({
          model,
          keys,
          tokens,
          clock,
          pending: new NatsPendingLogins(link, () => access.on.secrets),
          credentials: new ClientCredentials(access, clock, keyring),
          fetchWith: callsOf(access),
        }),
      KeySources,
      LoginTokens,
      AccessControl,
    ),
  ],
})
export class LoginsModule {}
