import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Keyring, KeyringError } from '@waybill/keyring';
import { encodeAuthMethod, encodeAuthMethodStub } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { TransactionWriter } from '@waybill/writing';
import { Needs } from '../access/needs.decorator.js';
import { management, open } from '../access/needs.js';
import { badRequest, notFound, serverFailure } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { AccessControl } from './access-control.js';
import { readAssertionFiles } from './assertion-files.store.js';
import { type GivenAuthMethod, readAuthMethod } from './auth-method-request.js';
import { authMethodWrite, configOfWrite } from './decisions/auth-method.js';

const NOT_FOUND = 'ACL auth-method not found';

/** The controller of `/v1/acl/auth-methods` and `/v1/acl/auth-method/:name` (AU-11 to AU-27). */
@Controller('v1/acl')
export class AuthMethodsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly writes: TransactionWriter,
    private readonly access: AccessControl,
    private readonly keyring: Keyring,
  ) {}

  /**
   * Lists auth methods. It needs no right, because whoever logs in needs the list (AU-3). Filters see only what the
   * list shows.
   */
  @Get('auth-methods')
  @Needs(open)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const filter = ListFilter.of(request.query);
    const options = { prefix: param(request.query, 'prefix'), ...pageOf(request.query) };
    await this.reads.answer(request, reply, [['acl_auth_methods', '*']], () => {
      const keep = filter?.keep(encodeAuthMethodStub);
      return listed(this.model.access.authMethods({ ...options, keep }), encodeAuthMethodStub);
    });
  }

  /** Reads a method. The route is a wildcard, because the router matches `:name` only with a part that is not empty. */
  @Get('auth-method/*')
  @Needs(management)
  async readAuthMethod(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const name = nameOf(request);
    const query = () => found(this.model.access.authMethod(name), encodeAuthMethod);
    await this.reads.answerObject(request, reply, [['acl_auth_methods', name]], { query, missing: NOT_FOUND });
  }

  @Put('auth-method')
  @Needs(management)
  putAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Post('auth-method')
  @Needs(management)
  postAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Put('auth-method/*')
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, nameOf(request));
  }

  @Post('auth-method/*')
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, nameOf(request));
  }

  /** Deletes a method. With `rules=true` it deletes its binding rules too (AU-23). */
  @Delete('auth-method/*')
  @Needs(management)
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const Name = nameOf(request);
    // The status and the text are those of the reference (AU-7).
    if (!(await this.model.access.authMethod(Name)).row) throw serverFailure('ACL auth method not found');
    const payload = { Name, WithRules: param(request.query, 'rules') === 'true' };
    const { index } = await this.writes.write({ type: 'ACLAuthMethodDelete', payload }, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  private async upsert(request: ApiRequest, reply: ApiReply, pathName: string | undefined): Promise<void> {
    const given = readAuthMethod(request.body);
    const { methodSecrets: secrets, limits, loginHosts } = this.access.on;
    const { written } = await this.writes.commit(
      Requester.of(request).author,
      () => this.seen(given),
      (seen) => authMethodWrite(given, { pathName, secrets, limits, loginHosts, nowMs: this.writes.nowMs(), ...seen }),
    );
    const { row } = await this.model.access.authMethod(given.Name);
    if (!row || !written) throw notFound(NOT_FOUND); // deleted in the moment since
    setWriteIndex(reply, written.index);
    sendJson(request, reply, encodeAuthMethod(row));
  }

  /** Reads the stored data on which a write depends. */
  private async seen(given: GivenAuthMethod) {
    const { access } = this.model;
    const { row: stored, index } = await access.authMethod(given.Name);
    const assertion = configOfWrite(given, stored)?.OIDCClientAssertion ?? null;
    const files = await readAssertionFiles(assertion);
    const clusterKeyProblem = assertion?.KeySource === 'nomad' ? await this.clusterKeyProblem() : undefined;
    const defaultName = (await access.defaultAuthMethod())?.Name;
    return { row: { stored, defaultName, files, clusterKeyProblem }, sequence: index };
  }

  private async clusterKeyProblem(): Promise<string | undefined> {
    try {
      await this.keyring.ready();
      return undefined;
    } catch (error) {
      if (error instanceof KeyringError) return error.message;
      throw error;
    }
  }
}

function nameOf(request: ApiRequest): string {
  const name = request.params['*'] ?? '';
  if (name === '') throw badRequest('missing ACL auth-method name');
  return name;
}
