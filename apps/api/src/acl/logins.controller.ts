import { All, Controller } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management, open } from '../access/needs.js';
import { ApiError } from '../http/api-error.js';

const notBuilt = (): ApiError =>
  new ApiError(501, 'logins by other parties (auth methods, binding rules, OIDC) are not built yet: see docs/gaps.md');

/** What would let other parties log in: not built. */
@Controller('v1/acl')
export class LoginsController {
  @All(['auth-methods', 'auth-method', 'auth-method/*', 'binding-rules', 'binding-rule', 'binding-rule/*'])
  @Needs(management)
  methods(): never {
    throw notBuilt();
  }

  @All(['login', 'oidc/auth-url', 'oidc/complete-auth', 'identity/client-introduction-token'])
  @Needs(open)
  logins(): never {
    throw notBuilt();
  }
}
