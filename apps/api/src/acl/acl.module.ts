import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { AccessControl } from './access-control.js';
import { AuthMethodsController } from './auth-methods.controller.js';
import { BindingRulesController } from './binding-rules.controller.js';
import { BootstrapAccess } from './bootstrap-access.js';
import { BootstrapController } from './bootstrap.controller.js';
import { FailedAttempts } from './failed-attempts.js';
import { IntroductionTokensController } from './introduction-tokens.controller.js';
import { OneTimeTokens } from './one-time-tokens.js';
import { OneTimeTokensController } from './one-time-tokens.controller.js';
import { PoliciesController } from './policies.controller.js';
import { Rekeying } from './rekeying.js';
import { RekeyingController } from './rekeying.controller.js';
import { RolesController } from './roles.controller.js';
import { TokenAnswers } from './token-answers.js';
import { TokenWrites } from './token-writes.js';
import { TokensController } from './tokens.controller.js';

@Module({
  controllers: [
    BootstrapController,
    OneTimeTokensController,
    TokensController,
    PoliciesController,
    RolesController,
    AuthMethodsController,
    BindingRulesController,
    IntroductionTokensController,
    RekeyingController,
  ],
  providers: [
    made(AccessControl, ({ parts }) => parts.access),
    made(TokenAnswers, ({ model, parts }) => new TokenAnswers(model, parts.access)),
    made(
      BootstrapAccess,
      ({ model, writes }, access, answers) => new BootstrapAccess({ model, writes, access, answers }),
      AccessControl,
      TokenAnswers,
    ),
    made(
      OneTimeTokens,
      ({ model, writes }, access, answers) => new OneTimeTokens({ model, writes, access, answers }),
      AccessControl,
      TokenAnswers,
    ),
    made(Rekeying, ({ model, writes }, access) => new Rekeying({ model, writes, access }), AccessControl),
    made(
      TokenWrites,
      ({ model, writes }, access, answers) => new TokenWrites({ model, writes, access, answers }),
      AccessControl,
      TokenAnswers,
    ),
    made(
      FailedAttempts,
      ({ context: { settings, clock } }) => new FailedAttempts(settings.WAYBILL_ACL_FAILED_LOGINS_PER_MINUTE, clock),
    ),
  ],
  exports: [AccessControl, TokenAnswers, FailedAttempts],
})
export class AclModule {}
