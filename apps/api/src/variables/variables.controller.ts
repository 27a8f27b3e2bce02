import { Controller, Delete, Get, Options, Patch, Post, Put, Req, Res } from '@nestjs/common';
import { namespacedKey } from '@waybill/state';
import { checkVariablePath } from '@waybill/model';
import { randomUUID } from 'node:crypto';
import { Needs } from '../access/needs.decorator.js';
import { anybody, ofVariable, variableList } from '../access/needs.js';
import { badRequest } from '../http/api-error.js';
import { readOptionalJsonBody } from '../http/body.js';
import { ListFilter } from '../http/list-filter.js';
import { namespacesOf, pageOf } from '../http/list-params.js';
import { namespaceOf, param } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { namedLockId, variableDelete, variableWrite } from './decisions/variable-write.js';
import { checkIndexOf, namespaceOfWrite, operationOf, readVariable } from './variable-request.js';
import { type VariableAnswer, Variables } from './variables.js';
import { callUserOf } from '../access/call-user.js';

/** The controller of `/v1/vars` and `/v1/var/<path>` (OP-190 to OP-206, API-258). */
@Controller()
export class VariablesController {
  constructor(
    private readonly reads: Reads,
    private readonly variables: Variables,
  ) {}

  @Get('v1/vars')
  @Needs(variableList)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { access, query } = request;
    const namespaces = namespacesOf(query);
    access.inNamespace(namespaceOf(query));
    const options = { namespaces, prefix: param(query, 'prefix'), ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.answer(request, reply, [['variables', '*']], () => this.variables.list(access, options, filter));
  }

  @Get('v1/var/*')
  @Needs(ofVariable('read'))
  async readVariable(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { access, query } = request;
    const Namespace = namespaceOf(query);
    const Path = access.onVariable(Namespace, pathOf(request));
    const watched = [['variables', namespacedKey(Namespace, Path)]] as const;
    const read = () => this.variables.readVariable(access, { Namespace, Path });
    await this.reads.answerObject(request, reply, watched, { query: read, missing: 'variable not found' });
  }

  @Put('v1/var/*')
  @Needs(ofVariable('write'))
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  @Post('v1/var/*')
  @Needs(ofVariable('write'))
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  @Delete('v1/var/*')
  @Needs(ofVariable('destroy'))
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { access, query } = request;
    const path = pathOf(request);
    const checkIndex = checkIndexOf(query);
    const body: unknown = readOptionalJsonBody(request.body);
    const given = body === undefined ? { Namespace: '', Lock: null } : readVariable(request.body);
    const Namespace = namespaceOfWrite(query, given);
    const Path = access.onVariable(Namespace, path);
    const change = variableDelete(Path, given.Lock, checkIndex);
    const author = Requester.of(request).author;
    send(request, reply, await this.variables.write(access, author, { Namespace, Path }, { change }));
  }

  @Patch('v1/var/*')
  @Needs(anybody)
  patch(): never {
    throw badRequest('Invalid method');
  }

  @Options('v1/var/*')
  @Needs(anybody)
  options(): never {
    throw badRequest('Invalid method');
  }

  private async write(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { access, query } = request;
    const path = pathOf(request);
    const operation = operationOf(query);
    const given = readVariable(request.body);
    const Namespace = namespaceOfWrite(query, given);
    const Path = access.onVariable(Namespace, path);
    checkVariablePath(Path);
    const owner = { Namespace, Path };
    if (operation.op === 'lock-renew')
      return send(request, reply, await this.variables.renew(owner, namedLockId(given), callUserOf(access.caller)));
    const wanted = variableWrite(owner, given, operation, randomUUID);
    send(request, reply, await this.variables.write(access, Requester.of(request).author, owner, wanted));
  }
}

function pathOf(request: ApiRequest): string {
  const path = request.params['*'] ?? '';
  if (path === '') throw badRequest('missing variable path');
  return path;
}

function send(request: ApiRequest, reply: ApiReply, { status, index, body }: VariableAnswer): void {
  setWriteIndex(reply, index);
  if (body === undefined) reply.code(status).send();
  else sendJson(request, reply, body, status);
}
