import { Controller, Delete, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, management } from '../access/needs.js';
import type { AclRole } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { TransactionWriter } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import { badRequest, forbidden, notFound, serverFailure } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { roleWrite } from './decisions/role.js';
import { readRole } from './role-request.js';

const NOT_FOUND = 'ACL role not found';

/** The controller of `/v1/acl/roles` and `/v1/acl/role` (OP-165, OP-166). */
@Controller('v1/acl')
export class RolesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly writes: TransactionWriter,
  ) {}

  /** Lists roles. Callers without management see only those of their token. */
  @Get('roles')
  @Needs(anybody)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { acl, token } = request.access.caller;
    const ids = acl.isManagement() ? undefined : (token?.Roles ?? []).map(({ ID }) => ID);
    const filter = ListFilter.of(request.query);
    const options = { prefix: param(request.query, 'prefix'), ids, ...pageOf(request.query) };
    await this.reads.answer(request, reply, [['acl_roles', '*']], () =>
      listed(this.model.access.roles({ ...options, keep: filter?.keep<AclRole>() })),
    );
  }

  @Get('role/name/:name')
  @Needs(anybody)
  async readByName(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    mustHave(request, (role) => role.Name === name);
    const query = () => found(this.model.access.roleByName(name));
    await this.reads.answerObject(request, reply, [['acl_roles', '*']], { query, missing: NOT_FOUND });
  }

  /** Reads a role. The route is a wildcard, because the router matches `:id` only with a part that is not empty. */
  @Get('role/*')
  @Needs(anybody)
  async readRole(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = idOf(request);
    mustHave(request, (role) => role.ID === id);
    const query = () => found(this.model.access.role(id));
    await this.reads.answerObject(request, reply, [['acl_roles', id]], { query, missing: NOT_FOUND });
  }

  @Put('role')
  @Needs(management)
  putAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Post('role')
  @Needs(management)
  postAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Put('role/*')
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, idOf(request));
  }

  @Post('role/*')
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, idOf(request));
  }

  @Delete('role/*')
  @Needs(management)
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = idOf(request);
    // The status is that of the reference (OP-165).
    if (!(await this.model.access.role(id)).row) throw serverFailure(NOT_FOUND);
    const payload = { IDs: [id] };
    const { index } = await this.writes.write({ type: 'ACLRolesDelete', payload }, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  private async upsert(request: ApiRequest, reply: ApiReply, pathId: string | undefined): Promise<void> {
    const given = readRole(request.body);
    const { access } = this.model;
    const policies = await access.policiesNamed(given.Policies.map(({ Name }) => Name));
    const decision = roleWrite(given, {
      pathId,
      stored: given.ID === '' ? undefined : (await access.role(given.ID)).row,
      namesake: (await access.roleByName(given.Name)).row,
      policies: policies.map(({ Name }) => Name),
      newUuid: randomUUID,
    });
    const { index } = await this.writes.write(decision, Requester.of(request).author);
    const { row } = await access.role(decision.roleId);
    if (!row) throw notFound(NOT_FOUND); // deleted in the moment since
    setWriteIndex(reply, index);
    sendJson(request, reply, row);
  }
}

/** @throws Refusal forbidden if the caller does not have the requested role */
function mustHave({ access: { caller } }: ApiRequest, isAsked: (role: AclRole) => boolean): void {
  if (!caller.acl.isManagement() && !caller.grants?.roles.some(isAsked)) throw forbidden('Permission denied');
}

function idOf(request: ApiRequest): string {
  const id = request.params['*'] ?? '';
  if (id === '') throw badRequest('missing ACL role ID');
  return id;
}
