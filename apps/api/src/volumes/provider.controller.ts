import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inBody, inQuery } from '../access/needs.js';
import { ReadModel } from '@waybill/projection';
import {
  createSnapshots,
  deleteSnapshot,
  listExternalVolumes,
  listSnapshots,
  type SnapshotsResponse,
} from '@waybill/rpc';
import { readJsonBody } from '../http/body.js';
import { RetryingRpc } from '../http/retrying-rpc.js';
import { param, perPageParam } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { allowedNamespaceOfWrite } from '../http/write-options.js';
import { csiSecretsOf } from './csi-secrets.js';
import { readSnapshots } from './snapshot-request.js';
import { callsFor } from '../access/call-user.js';

/** The right that is needed besides those that the routes for writes declare. */
const PLUGIN_READ = { kind: 'plugin', level: 'read' } as const;

/**
 * The controller of `/v1/volumes/external` and `/v1/volumes/snapshot`: what only the provider knows, asked through its
 * plugin (VL-272).
 */
@Controller('v1/volumes')
export class ProviderController {
  constructor(
    private readonly calls: RetryingRpc,
    private readonly model: ReadModel,
  ) {}

  @Get('external')
  @Needs(inQuery('csi-list-volume', 'csi-read-volume', 'csi-mount-volume', 'list-jobs'))
  async external(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.answer(request, reply, () => callsFor(request, this.calls).ask(listExternalVolumes, pageOf(request)));
  }

  @Get('snapshot')
  @Needs(inQuery('csi-list-volume', 'csi-read-volume', 'csi-mount-volume', 'list-jobs'))
  async snapshots(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const page = { ...pageOf(request), Secrets: csiSecretsOf(request) };
    await this.answer(request, reply, async () => shown(await callsFor(request, this.calls).ask(listSnapshots, page)));
  }

  @Put('snapshot')
  @Needs(inBody('csi-write-volume'))
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.create(request, reply);
  }

  @Post('snapshot')
  @Needs(inBody('csi-write-volume'))
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.create(request, reply);
  }

  @Delete('snapshot')
  @Needs(inQuery('csi-write-volume'))
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    request.access.must(PLUGIN_READ);
    const { onBehalf: For, traceparent } = Requester.of(request);
    const PluginID = pluginOf(request);
    const SnapshotID = param(request.query, 'snapshot_id') ?? '';
    await callsFor(request, this.calls).ask(
      deleteSnapshot,
      { PluginID, SnapshotID, Secrets: csiSecretsOf(request), For },
      { traceparent },
    );
    setWriteIndex(reply, await this.indexOf(PluginID));
    sendEmpty(reply);
  }

  private async create(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { onBehalf: For, traceparent } = Requester.of(request);
    const body = readJsonBody(request.body);
    request.access.must(PLUGIN_READ);
    const Namespace = allowedNamespaceOfWrite(request, body);
    const wanted = { Namespace, Snapshots: readSnapshots(body), For };
    await this.answer(request, reply, async () =>
      shown(await callsFor(request, this.calls).ask(createSnapshots, wanted, { traceparent })),
    );
  }

  private async answer(request: ApiRequest, reply: ApiReply, ask: () => Promise<object>): Promise<void> {
    const answer = await ask();
    const Index = await this.indexOf(pluginOf(request));
    setWriteIndex(reply, Index);
    sendJson(request, reply, { ...answer, Index, LastContact: 0, KnownLeader: true });
  }

  /** Returns the index of the plugins, because the log contains nothing of the answer. */
  private async indexOf(pluginId: string): Promise<number> {
    return (await this.model.volumes.plugin(pluginId)).index;
  }
}

/** Members that only requests have. Every answer contains them empty. */
const NOT_SHOWN = { Name: '', Secrets: null, Parameters: null } as const;

const shown = (answer: SnapshotsResponse): object => ({
  ...answer,
  Snapshots: answer.Snapshots.map((snapshot) => ({ ...snapshot, ...NOT_SHOWN })),
});

const pluginOf = ({ query }: ApiRequest): string => param(query, 'plugin_id') ?? '';

const pageOf = (request: ApiRequest) => ({
  PluginID: pluginOf(request),
  MaxEntries: perPageParam(request.query),
  StartingToken: param(request.query, 'next_token') ?? '',
});
