import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, management } from '../access/needs.js';
import { parsePolicyRules, policyRulesJson } from '@waybill/acl';
import { type AclPolicy, ANONYMOUS_POLICY, encodeAclPolicy, encodeAclPolicyStub } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { TransactionWriter } from '@waybill/writing';
import { policyNamesOf } from '../access/caller.js';
import { badRequest, forbidden } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { policyWrite } from './decisions/policy.js';
import { readPolicy } from './policy-request.js';

/** The controller of `/v1/acl/policies` and `/v1/acl/policy/:name` (OP-160 to OP-164). */
@Controller('v1/acl')
export class PoliciesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly writes: TransactionWriter,
  ) {}

  /** Lists policies. Callers without management see only their own (OP-160). */
  @Get('policies')
  @Needs(anybody)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { caller } = request.access;
    await this.answerList(request, reply, caller.acl.isManagement() ? undefined : policyNamesOf(caller));
  }

  @Get('policy/self')
  @Needs(anybody)
  async self(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { caller } = request.access;
    if (!caller.token && !caller.workload) throw forbidden('Permission denied');
    await this.answerList(request, reply, policyNamesOf(caller));
  }

  /** Reads a policy. The route is a wildcard, because the router matches `:name` only with a part that is not empty. */
  @Get('policy/*')
  @Needs(anybody)
  async readPolicy(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const name = nameOf(request);
    const { caller } = request.access;
    const isOwn = name === ANONYMOUS_POLICY || policyNamesOf(caller).includes(name);
    if (!isOwn && !caller.acl.isManagement()) throw forbidden('Permission denied');
    const query = () => found(this.model.access.policy(name), withRules);
    await this.reads.answerObject(request, reply, [['acl_policy', name]], { query, missing: 'ACL policy not found' });
  }

  @Put('policy/*')
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply);
  }

  @Post('policy/*')
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply);
  }

  @Delete('policy/*')
  @Needs(management)
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const name = nameOf(request);
    const payload = { Names: [name] };
    const { index } = await this.writes.write({ type: 'ACLPolicyDelete', payload }, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  private async upsert(request: ApiRequest, reply: ApiReply): Promise<void> {
    const name = nameOf(request);
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

/** Returns a policy with its rules. It also shows a policy whose rules a later version of the parser would refuse. */
const withRules = (policy: AclPolicy) =>
  encodeAclPolicy(policy, policyRulesJson(parsePolicyRules(policy.Rules, { lenient: true })));

function nameOf(request: ApiRequest): string {
  const name = request.params['*'] ?? '';
  if (name === '') throw badRequest('Missing Policy Name');
  return name;
}
