import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import type { BindingRule } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { TransactionWriter } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import { Needs } from '../access/needs.decorator.js';
import { management } from '../access/needs.js';
import { badRequest, notFound, serverFailure } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { type GivenBindingRule, readBindingRule } from './binding-rule-request.js';
import { bindingRuleWrite, methodOfRule, ruleOfPath } from './decisions/binding-rule.js';

const NOT_FOUND = 'ACL binding rule not found';

/** The controller of `/v1/acl/binding-rules` and `/v1/acl/binding-rule/:id` (AU-31 to AU-37). */
@Controller('v1/acl')
export class BindingRulesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly writes: TransactionWriter,
  ) {}

  @Get('binding-rules')
  @Needs(management)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const filter = ListFilter.of(request.query);
    const options = { prefix: param(request.query, 'prefix'), ...pageOf(request.query) };
    await this.reads.answer(request, reply, [['acl_binding_rules', '*']], () =>
      listed(this.model.access.bindingRules({ ...options, keep: filter?.keep<BindingRule>() }), stubOf),
    );
  }

  /** Reads a rule. The route is a wildcard, because the router matches `:id` only with a part that is not empty. */
  @Get('binding-rule/*')
  @Needs(management)
  async readBindingRule(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = idOf(request);
    const query = () => found(this.model.access.bindingRule(id));
    await this.reads.answerObject(request, reply, [['acl_binding_rules', id]], { query, missing: NOT_FOUND });
  }

  @Put('binding-rule')
  @Needs(management)
  putAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Post('binding-rule')
  @Needs(management)
  postAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Put('binding-rule/*')
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, idOf(request));
  }

  @Post('binding-rule/*')
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, idOf(request));
  }

  @Delete('binding-rule/*')
  @Needs(management)
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const ID = idOf(request);
    // The status is that of the reference (AU-7).
    if (!(await this.model.access.bindingRule(ID)).row) throw serverFailure(NOT_FOUND);
    const decision = { type: 'ACLBindingRuleDelete', payload: { ID } } as const;
    const { index } = await this.writes.write(decision, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  private async upsert(request: ApiRequest, reply: ApiReply, pathId: string | undefined): Promise<void> {
    const given = ruleOfPath(readBindingRule(request.body), pathId);
    const newId = randomUUID();
    const { decision, written } = await this.writes.commit(
      Requester.of(request).author,
      () => this.seen(given),
      (seen) => bindingRuleWrite(given, { newId, nowMs: this.writes.nowMs(), ...seen }),
    );
    const { row } = await this.model.access.bindingRule(decision?.ruleId ?? '');
    if (!row || !written) throw notFound(NOT_FOUND); // deleted in the moment since
    setWriteIndex(reply, written.index);
    sendJson(request, reply, row);
  }

  /** Reads the stored data on which a write depends. */
  private async seen(given: GivenBindingRule) {
    const { access } = this.model;
    const { row: stored, index } = await access.bindingRule(given.ID);
    const hasMethod = (await access.authMethod(methodOfRule(given, stored))).row !== undefined;
    return { row: { stored, hasMethod }, sequence: index };
  }
}

/** Returns a rule in its form for lists. */
const stubOf = ({ ID, Description, AuthMethod, Hash, CreateIndex, ModifyIndex }: BindingRule) => ({
  ID,
  Description,
  AuthMethod,
  Hash,
  CreateIndex,
  ModifyIndex,
});

function idOf(request: ApiRequest): string {
  const id = request.params['*'] ?? '';
  if (id === '') throw badRequest('missing ACL binding rule ID');
  return id;
}
