import { required } from './arguments.js';
import { type ControllerCapability, controllerCapabilities, type WireServiceCapabilities } from './capabilities.js';
import {
  type ListedVolume,
  listedSnapshotOf,
  listedVolumeOf,
  type Paged,
  type ProvidedSnapshot,
  type ProvidedVolume,
  snapshotOf,
  type Validation,
  validationOf,
  volumeOf,
  type WireSnapshot,
  type WireSnapshotEntry,
  type WireValidation,
  type WireVolume,
  type WireVolumeEntry,
} from './controller-answers.js';
import {
  type AttachVolume,
  attachRequest,
  type CreateSnapshot,
  createSnapshotRequest,
  type CreateVolume,
  createVolumeRequest,
  type DetachVolume,
  detachRequest,
  type ExpandVolume,
  expandRequest,
  type Page,
  pageRequest,
  type ValidateVolume,
  validateRequest,
} from './controller-requests.js';
import { CsiAnswerError, explaining, type Explanation, isThere, RETRYABLE } from './errors.js';
import type { CallOptions, PluginConnection } from './plugin-connection.js';
import { status } from './status.js';

/**
 * The calls to a storage provider through its controller plugin. All @throws CsiError, with an explanation if the code
 * alone determines the next step (csi-wire.md section 7), and CsiArgumentError before a call.
 */
export class ControllerClient {
  constructor(private readonly connection: PluginConnection) {}

  async capabilities(options?: CallOptions): Promise<ReadonlySet<ControllerCapability>> {
    return controllerCapabilities(
      await this.callController<WireServiceCapabilities>('ControllerGetCapabilities', {}, {}, { ...options, tries: 1 }),
    );
  }

  /** @throws CsiAnswerError (VL-256) */
  async createVolume(create: CreateVolume, options?: CallOptions): Promise<ProvidedVolume> {
    const quoted = `volume ${JSON.stringify(create.name)}`;
    const explanations = {
      [status.INVALID_ARGUMENT]: `the parameters or the source of ${quoted} do not suit the plugin: `,
      [status.NOT_FOUND]: `what ${quoted} is to be filled from does not exist: `,
      [status.ALREADY_EXISTS]: `${quoted} exists already, made with other parameters: `,
      [status.RESOURCE_EXHAUSTED]: `no room for ${quoted} where it may be: `,
      [status.OUT_OF_RANGE]: `${quoted} cannot have that capacity: `,
    };
    const request = createVolumeRequest(create);
    const { volume } = await this.callController<{ volume: WireVolume | null }>(
      'CreateVolume',
      request,
      explanations,
      options,
    );
    if (!volume) throw new CsiAnswerError('plugin did not return error or volume');
    return volumeOf(volume);
  }

  async deleteVolume(
    volumeId: string,
    secrets: Readonly<Record<string, string>> = {},
    options?: CallOptions,
  ): Promise<void> {
    const request = { volume_id: required('volume ID', volumeId), secrets };
    await this.callController(
      'DeleteVolume',
      request,
      { [status.FAILED_PRECONDITION]: `volume "${volumeId}" is in use: ` },
      options,
    );
  }

  /**
   * @returns the context for stage and publish on that machine (CW-20). FAILED_PRECONDITION may be temporary (VL-252).
   */
  async attach(attach: AttachVolume, options?: CallOptions): Promise<Readonly<Record<string, string>>> {
    const explanations: Partial<Record<number, Explanation>> = {
      [status.NOT_FOUND]: `volume "${attach.volumeId}" or node "${attach.nodeId}" could not be found: `,
      [status.ALREADY_EXISTS]: `volume "${attach.volumeId}" is attached to node "${attach.nodeId}" in another way: `,
      [status.RESOURCE_EXHAUSTED]: `node "${attach.nodeId}" has as many volumes as it takes: `,
      [status.FAILED_PRECONDITION]: RETRYABLE,
    };
    const answer = await this.callController<{ publish_context: Record<string, string> }>(
      'ControllerPublishVolume',
      attachRequest(attach),
      explanations,
      options,
    );
    return answer.publish_context;
  }

  /** Detaching a volume that is not attached succeeds (VL-251). */
  async detach(detach: DetachVolume, options?: CallOptions): Promise<void> {
    await isThere(this.callController('ControllerUnpublishVolume', detachRequest(detach), {}, options));
  }

  async validate(validate: ValidateVolume, options?: CallOptions): Promise<Validation> {
    const explanations = { [status.NOT_FOUND]: `volume "${validate.volumeId}" could not be found: ` };
    const request = validateRequest(validate);
    return validationOf(
      await this.callController<WireValidation>('ValidateVolumeCapabilities', request, explanations, options),
    );
  }

  async listVolumes(page: Page, options?: CallOptions): Promise<Paged<ListedVolume>> {
    const { entries, next_token: nextToken } = await this.callController<{
      entries: WireVolumeEntry[];
      next_token: string;
    }>('ListVolumes', pageRequest(page), badToken(page), options);
    return { entries: entries.map((entry) => listedVolumeOf(entry)), nextToken };
  }

  /** @returns the present size in bytes, and whether its nodes must expand it too (CW-21) */
  async expand(
    expand: ExpandVolume,
    options?: CallOptions,
  ): Promise<{ readonly capacityBytes: bigint; readonly nodeExpansionRequired: boolean }> {
    const explanations = {
      [status.NOT_FOUND]: `volume "${expand.volumeId}" could not be found: `,
      [status.FAILED_PRECONDITION]: `volume "${expand.volumeId}" cannot grow while it is in use: `,
      [status.OUT_OF_RANGE]: `volume "${expand.volumeId}" cannot have that capacity: `,
    };
    const answer = await this.callController<{ capacity_bytes: string; node_expansion_required: boolean }>(
      'ControllerExpandVolume',
      expandRequest(expand),
      explanations,
      options,
    );
    return { capacityBytes: BigInt(answer.capacity_bytes), nodeExpansionRequired: answer.node_expansion_required };
  }

  /** @throws CsiAnswerError (VL-256) */
  async createSnapshot(create: CreateSnapshot, options?: CallOptions): Promise<ProvidedSnapshot> {
    const quoted = `snapshot ${JSON.stringify(create.name)}`;
    const explanations = {
      [status.ALREADY_EXISTS]: `${quoted} exists already, of another volume: `,
      [status.ABORTED]: `${quoted} is still being made: `,
      [status.RESOURCE_EXHAUSTED]: `no room for ${quoted}: `,
    };
    const request = createSnapshotRequest(create);
    const { snapshot } = await this.callController<{ snapshot: WireSnapshot | null }>(
      'CreateSnapshot',
      request,
      explanations,
      options,
    );
    if (!snapshot) throw new CsiAnswerError('plugin did not return error or snapshot');
    return snapshotOf(snapshot);
  }

  async deleteSnapshot(
    snapshotId: string,
    secrets: Readonly<Record<string, string>> = {},
    options?: CallOptions,
  ): Promise<void> {
    const request = { snapshot_id: required('snapshot ID', snapshotId), secrets };
    const explanations = { [status.FAILED_PRECONDITION]: `snapshot "${snapshotId}" is in use: ` };
    await this.callController('DeleteSnapshot', request, explanations, options);
  }

  async listSnapshots(
    page: Page & { readonly secrets?: Readonly<Record<string, string>> },
    options?: CallOptions,
  ): Promise<Paged<ProvidedSnapshot>> {
    const request = { ...pageRequest(page), secrets: page.secrets ?? {} };
    const { entries, next_token: nextToken } = await this.callController<{
      entries: WireSnapshotEntry[];
      next_token: string;
    }>('ListSnapshots', request, badToken(page), options);
    return { entries: entries.map((entry) => listedSnapshotOf(entry)), nextToken };
  }

  private callController<Answer>(
    method: string,
    request: object,
    explanations: Partial<Record<number, Explanation>>,
    options?: CallOptions,
  ): Promise<Answer> {
    return explaining(
      'controller',
      this.connection.call<object, Answer>('Controller', method, request, options),
      explanations,
    );
  }
}

const badToken = ({ startingToken = '' }: Page): Partial<Record<number, Explanation>> => ({
  [status.ABORTED]: `invalid starting token "${startingToken}": `,
});
