import { All, Controller, Get, Req, Res } from '@nestjs/common';
import { badRequest } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';

/** Who everybody is while access control is off (OP-111). */
const EVERYBODY = {
  AccessorID: 'acls-disabled',
  SecretID: '',
  Name: 'ACLs disabled token',
  Type: 'client',
  Policies: null,
  Roles: null,
  Global: false,
  CreateTime: null,
  ExpirationTime: null,
  ExpirationTTL: '',
  CreateIndex: 0,
  ModifyIndex: 0,
};

/** `/v1/acl/…` while access control is off (API-40). */
@Controller('v1/acl')
export class AclDisabledController {
  @Get('token/self')
  self(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, EVERYBODY);
  }

  @All('*')
  refuse(): never {
    throw badRequest('ACL support disabled');
  }
}
