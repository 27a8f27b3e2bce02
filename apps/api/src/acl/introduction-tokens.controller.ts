import { All, Controller } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { ApiError } from '../http/api-error.js';

/** The controller of tokens by which new nodes would register. They are not built. */
@Controller('v1/acl/identity/client-introduction-token')
export class IntroductionTokensController {
  @All()
  @Needs(open)
  any(): never {
    throw new ApiError(501, 'introduction tokens of nodes are not built yet: see docs/gaps.md');
  }
}
