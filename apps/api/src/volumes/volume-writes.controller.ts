import { All, Controller, Delete, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inBody, inQuery, open } from '../access/needs.js';
import { decodeVolumes, encodeCSIVolume } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import {
  type Call,
  createVolumes,
  deleteVolumes,
  deregisterVolumes,
  detachVolume,
  type IndexResponse,
  registerVolumes,
  type WriteVolumesRequest,
} from '@waybill/rpc';
import { badRequest, notFound } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { boolParam, namespaceOf, param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson } from '../http/reply.js';
import { namespaceOfWrite } from '../http/write-options.js';
import { csiSecretsOf } from './csi-secrets.js';
import { HolderWrites } from '../http/holder-writes.js';

/** The right that is needed besides those that the routes declare. */
const PLUGIN_READ = { kind: 'plugin', level: 'read' } as const;

/**
 * The controller of writes of CSI volumes. It forwards them to the holder of the role, and answers when they can be
 * read (VL-266).
 */
@Controller('v1')
export class VolumeWritesController {
  constructor(
    private readonly writes: HolderWrites,
    private readonly model: ReadModel,
  ) {}

  @Put('volumes')
  @Needs(inBody('csi-write-volume'))
  putAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.submitWrite(registerVolumes, request, reply);
  }

  @Post('volumes')
  @Needs(inBody('csi-write-volume'))
  postAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.submitWrite(registerVolumes, request, reply);
  }

  /** Registers a volume. The ID in the body counts. */
  @Put('volume/csi/:id')
  @Needs(inBody('csi-write-volume'))
  register(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.submitWrite(registerVolumes, request, reply);
  }

  @Put('volume/csi/:id/create')
  @Needs(inBody('csi-write-volume'))
  create(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.submitWrite(createVolumes, request, reply);
  }

  @Delete('volume/csi/:id')
  @Needs(inQuery('csi-write-volume'))
  async deregister(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const Force = boolParam(request.query, 'force', () => badRequest('invalid force value')) ?? false;
    const wanted = { Namespace: namespaceOf(request.query), VolumeIDs: [id], Force };
    await this.writes.callHolder(deregisterVolumes, wanted, request, reply);
    sendEmpty(reply);
  }

  @Delete('volume/csi/:id/delete')
  @Needs(inQuery('csi-write-volume'))
  async delete(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    request.access.must(PLUGIN_READ);
    const wanted = { Namespace: namespaceOf(request.query), VolumeIDs: [id], Secrets: csiSecretsOf(request) };
    await this.writes.callHolder(deleteVolumes, wanted, request, reply);
    sendEmpty(reply);
  }

  /** Detaches a volume from the node in the query, which may no longer exist (VL-157, VL-158). */
  @Delete('volume/csi/:id/detach')
  @Needs(inQuery('csi-mount-volume'))
  async detach(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const NodeID = param(request.query, 'node') ?? '';
    request.access.must(PLUGIN_READ);
    if (NodeID === '') throw badRequest('detach requires node ID');
    const wanted = { Namespace: namespaceOf(request.query), VolumeID: id, NodeID };
    await this.writes.callHolder(detachVolume, wanted, request, reply);
    sendEmpty(reply);
  }

  /** Refuses a PUT on an unknown second segment (VL-269). */
  @Put('volume/csi/:id/:other')
  @Needs(open)
  putOther(): never {
    throw notFound('resource not found');
  }

  @Delete('volume/csi/:id/:other')
  @Needs(open)
  deleteOther(): never {
    throw notFound('resource not found');
  }

  @All('volume/csi/:id/:other/*')
  @Needs(open)
  longer(): never {
    throw notFound('resource not found');
  }

  private async submitWrite(
    call: Call<WriteVolumesRequest, IndexResponse>,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<void> {
    const body = readJsonBody(request.body);
    const Volumes = decodeVolumes(body, namespaceOfWrite(request.query, body));
    for (const { Namespace } of Volumes) request.access.inNamespace(Namespace);
    request.access.must(PLUGIN_READ);
    const { Index } = await this.writes.callHolder(call, { Volumes }, request, reply);
    const stored = await Promise.all(Volumes.map(({ Namespace, ID }) => this.model.volumes.find(Namespace, ID)));
    sendJson(request, reply, {
      Volumes: stored.flatMap(({ row }) => row ?? []).map(({ volume, plugin }) => encodeCSIVolume(volume, plugin)),
      Warnings: '',
      Index,
      LastContact: 0,
      KnownLeader: true,
      NextToken: '',
    });
  }
}
