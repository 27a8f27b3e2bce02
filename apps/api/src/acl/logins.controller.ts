import { All, Controller } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { ApiError } from '../http/api-error.js';

const notBuilt = (): ApiError => new ApiError(501, 'logins by auth methods are not built yet: see docs/gaps.md');

/** What would let other parties log in: not built. */
@Controller('v1/acl')
export class LoginsController {
  @All(['login', 'oidc/auth-url', 'oidc/complete-auth', 'identity/client-introduction-token'])
  @Needs(open)
  logins(): never {
    throw notBuilt();
  }
}
