import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { parsePolicyRules, policyRulesJson } from '@waybill/acl';
import { type AclPolicy, ANONYMOUS_POLICY, encodeAclPolicy, encodeAclPolicyStub } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { TransactionWriter } from '@waybill/writing';
import { badRequest } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { type AclCaller, AclCallers, permissionDenied } from './acl-caller.js';
import { policyWrite } from './decisions/policy.js';
import { readPolicy } from './policy-request.js';

/** `/v1/acl/policies`, `/v1/acl/policy/:name` (OP-160 to OP-164). */
@Controller('v1/acl')
export class PoliciesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly writes: TransactionWriter,
    private readonly callers: AclCallers,
  ) {}

  /** OP-160: of callers without management only their own. */
  @Get('policies')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const caller = await this.callers.of(request);
    await this.answerList(request, reply, caller.isManagement ? undefined : namesOf(caller));
  }

  @Get('policy/self')
  async self(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const caller = await this.callers.of(request);
    if (!caller.token) throw permissionDenied();
    await this.answerList(request, reply, namesOf(caller));
  }

  /** A wildcard, because a part of a path is never empty. */
  @Get('policy/*')
  async read(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const name = nameOf(request);
    const caller = await this.callers.of(request);
    if (!caller.isManagement && name !== ANONYMOUS_POLICY && !namesOf(caller).includes(name)) throw permissionDenied();
    const query = () => found(this.model.access.policy(name), withRules);
    await this.reads.answer(request, reply, [['acl_policy', name]], query, 'ACL policy not found');
  }

  @Put('policy/*')
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply);
  }

  @Post('policy/*')
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply);
  }

  @Delete('policy/*')
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const name = nameOf(request);
    await this.callers.management(request);
    const payload = { Names: [name] };
    const { index } = await this.writes.write({ type: 'ACLPolicyDelete', payload }, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  private async upsert(request: ApiRequest, reply: ApiReply): Promise<void> {
    const name = nameOf(request);
    await this.callers.management(request);
    const decision = policyWrite(readPolicy(request.body), name);
    const { index } = await this.writes.write(decision, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  private async answerList(request: ApiRequest, reply: ApiReply, named: readonly string[] | undefined): Promise<void> {
    const filter = ListFilter.of(request.query);
    const options = { prefix: param(request.query, 'prefix'), named, ...pageOf(request.query) };
    await this.reads.answer(request, reply, [['acl_policy', '*']], () =>
      listed(this.model.access.policies({ ...options, keep: filter?.keep(encodeAclPolicyStub) }), encodeAclPolicyStub),
    );
  }
}

/** The policies that a caller has, by name, also those that do not exist yet: a blocked list wakes when they do. */
function namesOf({ token, roles }: AclCaller): string[] {
  if (!token) return [ANONYMOUS_POLICY];
  return [...new Set([...(token.Policies ?? []), ...roles.flatMap((role) => role.Policies.map(({ Name }) => Name))])];
}

/** A policy whose rules a later version of the parser would refuse is shown all the same. */
const withRules = (policy: AclPolicy) =>
  encodeAclPolicy(policy, policyRulesJson(parsePolicyRules(policy.Rules, { lenient: true })));

function nameOf(request: ApiRequest): string {
  const name = request.params['*'] ?? '';
  if (name === '') throw badRequest('Missing Policy Name');
  return name;
}
