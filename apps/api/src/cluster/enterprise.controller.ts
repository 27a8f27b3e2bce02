import { All, Controller, Get, Put, Res } from '@nestjs/common';
import { ApiError } from '../http/api-error.js';
import type { ApiReply } from '../http/reply.js';

/** What only the commercial edition of the reference has; its clients ask, and understand this answer (API-9). */
@Controller('v1')
export class EnterpriseController {
  @All([
    'sentinel/policies',
    'sentinel/policy/:name',
    'quotas',
    'quota-usages',
    'quota',
    'quota/:name',
    'recommendation',
    'recommendation/:id',
    'recommendations',
    'recommendations/apply',
  ])
  missing(): never {
    throw enterpriseOnly();
  }

  @Get('operator/license')
  license(@Res() reply: ApiReply): void {
    reply.code(204).send();
  }

  @Put('operator/license')
  setLicense(): never {
    throw enterpriseOnly();
  }
}

const enterpriseOnly = (): ApiError => new ApiError(501, 'Nomad Enterprise only endpoint');
