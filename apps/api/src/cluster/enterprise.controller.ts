import { All, Controller, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open, operatorCapability, operatorRead } from '../access/needs.js';
import { enterpriseOnly, notFound } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';

/**
 * The controller of endpoints that only the commercial edition of the reference has. Its clients call them and
 * understand this answer (API-9).
 */
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
  @Needs(open)
  missing(): never {
    throw enterpriseOnly();
  }

  @Get('operator/license')
  @Needs(operatorCapability('license-read'))
  license(@Res() reply: ApiReply): void {
    reply.code(204).send();
  }

  @Put('operator/license')
  @Needs(open)
  setLicense(): never {
    throw enterpriseOnly();
  }

  @Post('operator/utilization')
  @Needs(open)
  utilization(): never {
    throw enterpriseOnly();
  }

  /** Reports that nothing has to be migrated: Waybill never used Vault's older tokens (OP-237). */
  @Get('operator/upgrade-check/:name')
  @Needs(operatorRead)
  upgradeCheck(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): void {
    if (name !== 'vault-workload-identity') throw notFound(`Path ${name} not found`);
    sendJson(request, reply, { JobsWithoutVaultIdentity: [], OutdatedNodes: [], VaultTokens: [] });
  }
}
