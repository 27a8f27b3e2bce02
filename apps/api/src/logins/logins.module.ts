import { Module } from '@nestjs/common';
import { AccessControl } from '../acl/access-control.js';
import { AclModule } from '../acl/acl.module.js';
import { made } from '../core.module.js';
import { KeySources } from './jwt/key-sources.js';
import { JwtLogins } from './jwt-logins.js';
import { LoginsController } from './logins.controller.js';
import { ClientCredentials } from './client-credentials.store.js';
import { NatsPendingLogins } from './oidc/pending-logins.store.js';
import { OidcLogins } from './oidc-logins.js';
import { outsideFetch } from './outside-calls.transport.js';
import { LoginTokens } from './login-tokens.js';

@Module({
  imports: [AclModule],
  controllers: [LoginsController],
  providers: [
    made(
      LoginTokens,
      ({ model, writes, context: { logger } }, access) => new LoginTokens({ model, writes, access, logger }),
      AccessControl,
    ),
    made(KeySources, ({ context: { clock, metrics } }) => new KeySources({ clock, metrics, fetchWith: outsideFetch })),
    made(
      JwtLogins,
      ({ model, context: { clock } }, keys, tokens) => new JwtLogins({ model, keys, tokens, clock }),
      KeySources,
      LoginTokens,
    ),
    made(
      OidcLogins,
      ({ model, context: { clock, link } }, keys, tokens, access) =>
        new OidcLogins({
          model,
          keys,
          tokens,
          clock,
          pending: new NatsPendingLogins(link, () => access.on.secrets),
          credentials: new ClientCredentials(access, clock),
          fetchWith: outsideFetch,
        }),
      KeySources,
      LoginTokens,
      AccessControl,
    ),
  ],
})
export class LoginsModule {}
