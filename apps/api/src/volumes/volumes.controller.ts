import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, byPart, inList, inQuery } from '../access/needs.js';
import { allocationStub, claimHoldersOf, encodeCSIVolume } from '@waybill/model';
import { ReadModel, type VolumeWithPlugin } from '@waybill/projection';
import { namespacedKey } from '@waybill/state';
import { notFound } from '../http/api-error.js';
import { namespaceOf, param } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { VolumeLists } from './volume-lists.js';

/** The need of a list of volumes depends on their type. A list without a type is empty. */
const BY_TYPE = byPart(({ query }) => param(query, 'type'), {
  '': anybody,
  csi: inList('csi-list-volume', 'csi-read-volume', 'csi-mount-volume', 'list-jobs'),
  host: inList('host-volume-read'),
});

/** The controller of reads of `/v1/volumes` and `/v1/volume/csi/:id`. */
@Controller('v1')
export class VolumesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly lists: VolumeLists,
  ) {}

  /** Lists volumes of the given type; no type gives an empty list, an unknown type is not found (VL-258). */
  @Get('volumes')
  @Needs(BY_TYPE)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    switch (param(request.query, 'type') ?? '') {
      case '':
        return sendJson(request, reply, []);
      case 'csi':
        return this.lists.csi(request, reply);
      case 'host':
        return this.lists.host(request, reply);
      default:
        throw notFound('resource not found');
    }
  }

  /** Reads a volume with the volumes table's index; a blocking query may wait for its creation (VL-264, VL-265). */
  @Get('volume/csi/:id')
  @Needs(inQuery('csi-read-volume', 'csi-mount-volume', 'read-job'))
  async readVolume(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const namespace = namespaceOf(request.query);
    const query = async () => {
      const { index, row } = await this.model.volumes.find(namespace, id);
      return { index, value: row && (await this.encodeVolume(row)) };
    };
    const watched = [['csi_volumes', namespacedKey(namespace, id)]] as const;
    await this.reads.answerObject(request, reply, watched, { query, missing: 'volume not found' });
  }

  /**
   * Encodes a volume with the stubs of its holders; a holder that was deleted keeps its claim and has no stub (VL-71).
   */
  private async encodeVolume({ volume, plugin }: VolumeWithPlugin): Promise<object> {
    const holders = claimHoldersOf(volume);
    const allocs = new Map((await this.model.allocationsNamed(holders)).map((alloc) => [alloc.ID, alloc]));
    const stubs = holders.flatMap((id) => allocs.get(id) ?? []).map((alloc) => allocationStub(alloc));
    return encodeCSIVolume(volume, plugin, stubs);
  }
}
