import { Controller, Delete, Param, Patch, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { byPart, inBody, inQuery, open } from '../access/needs.js';
import { decodeHostVolume, encodeHostVolume } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { createHostVolume, deleteHostVolume, deleteHostVolumeClaim, registerHostVolume } from '@waybill/rpc';
import { badRequest, notFound } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { boolParam, namespaceOf } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson } from '../http/reply.js';
import { namespaceOfWrite } from '../http/write-options.js';
import { HolderWrites } from '../http/holder-writes.js';

const WRITES = { create: createHostVolume, register: registerHostVolume } as const;
/** The rest of the path after its first part is ignored (VL-306). */
const CREATE_OR_REGISTER = ['volume/host/:action', 'volume/host/:action/*'];

const NEEDS = byPart(({ params }) => params['action'], {
  create: inBody('host-volume-create'),
  register: inBody('host-volume-register'),
});

/**
 * The controller of writes of dynamic host volumes and of claims on them. It forwards them to the holder of the role.
 */
@Controller('v1')
export class HostVolumeWritesController {
  constructor(
    private readonly writes: HolderWrites,
    private readonly model: ReadModel,
  ) {}

  @Put(CREATE_OR_REGISTER)
  @Needs(NEEDS)
  put(@Param('action') action: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(action, request, reply);
  }

  @Post(CREATE_OR_REGISTER)
  @Needs(NEEDS)
  post(@Param('action') action: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(action, request, reply);
  }

  /** Answers a wrong method as an unknown path. */
  @Patch(CREATE_OR_REGISTER)
  @Needs(open)
  patch(): never {
    throw notFound('resource not found');
  }

  @Delete(['volume/host/:id', 'volume/host/:id/*'])
  @Needs(inQuery('host-volume-delete'))
  async delete(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const Force = boolParam(request.query, 'force', () => badRequest('invalid force value')) ?? false;
    const wanted = { Namespace: namespaceOf(request.query), VolumeID: id, Force };
    const { Index } = await this.writes.callHolder(deleteHostVolume, wanted, request, reply);
    sendJson(request, reply, { Index });
  }

  /** Deletes the claim of a task group on a sticky volume (VL-294). */
  @Delete('volumes/claim/:id')
  @Needs(inQuery('host-volume-delete'))
  async deleteClaim(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const wanted = { Namespace: namespaceOf(request.query), ClaimID: id };
    await this.writes.callHolder(deleteHostVolumeClaim, wanted, request, reply);
    sendEmpty(reply);
  }

  private async write(action: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    if (action !== 'create' && action !== 'register') throw notFound('resource not found');
    const body = readJsonBody(request.body);
    const Volume = decodeHostVolume(body, namespaceOfWrite(request.query, body));
    if (!Volume) throw badRequest('missing volume definition');
    request.access.inNamespace(Volume.Namespace);
    const { Index, ID } = await this.writes.callHolder(WRITES[action], { Volume }, request, reply);
    const { row } = await this.model.volumes.hostVolume(Volume.Namespace, ID);
    sendJson(request, reply, { Volume: row ? encodeHostVolume(row) : null, Warnings: '', Index });
  }
}
