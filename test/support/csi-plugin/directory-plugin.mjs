// A small CSI plugin of our own: controller and node in one, over a Unix socket; its disks are directories.
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { CSI_SERVICES, csiService } from '@waybill/csi';
import { Disks, mount, unmount } from './disks.mjs';
import { Faults } from './faults.mjs';

export class Refusal extends Error {
  /** @param {number} code @param {string} details */
  constructor(code, details) {
    super(details);
    this.code = code;
  }
}

const NODE_CAPABILITIES = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'];
const CONTROLLER_CAPABILITIES = [
  'CREATE_DELETE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'LIST_VOLUMES',
  'CREATE_DELETE_SNAPSHOT',
  'LIST_SNAPSHOTS',
  'CLONE_VOLUME',
  'EXPAND_VOLUME',
];

/**
 * @typedef {{ root: string, nodeId: string, maxVolumes?: number, stages?: boolean, attaches?: boolean }} PluginOptions
 * @typedef {{ method: string, volume: string, target: string, at: number }} SeenCall
 */

export class DirectoryPlugin {
  /** @param {PluginOptions} options */
  constructor(options) {
    this.options = options;
    mkdirSync(options.root, { recursive: true });
    this.disks = new Disks(options.root);
    this.faults = new Faults(options.root);
    this.log = path.join(options.root, `calls-${options.nodeId}.jsonl`);
    this.server = new Server();
  }

  /** @param {string} socketPath */
  async listen(socketPath) {
    rmSync(socketPath, { force: true }); // a dead plugin's
    for (const name of CSI_SERVICES) {
      const service = csiService(name);
      const handlers = Object.keys(service).map((method) => [method, this.#handler(method)]);
      this.server.addService(service, Object.fromEntries(handlers));
    }
    await new Promise((resolve, reject) => {
      this.server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(undefined),
      );
    });
  }

  close() {
    this.server.forceShutdown();
  }

  /** @returns {SeenCall[]} without the looks that are taken all the time */
  get calls() {
    return callsIn(this.log);
  }

  /** @param {string} method */
  #handler(method) {
    /** @param {any} call @param {import('@grpc/grpc-js').sendUnaryData<object>} respond */
    return async ({ request }, respond) => {
      const fault = this.faults.of(method);
      const seen = { method, volume: request.volume_id ?? '', target: request.target_path ?? '', at: Date.now() };
      appendFileSync(this.log, `${JSON.stringify(seen)}\n`);
      try {
        if (fault.code !== undefined) throw new Refusal(fault.code, 'switched to fail');
        if (fault.crash) process.exit(1);
        if (fault.slowMs) await new Promise((resolve) => setTimeout(resolve, fault.slowMs));
        const answer = fault.forget ? {} : this.answer(method, request);
        if (fault.twice) this.answer(method, request);
        if (fault.never) return;
        respond(null, answer);
      } catch (error) {
        const code = error instanceof Refusal ? error.code : status.INTERNAL;
        respond({ code, details: error instanceof Error ? error.message : String(error) });
      }
    };
  }

  /** @param {string} method @param {any} request @returns {any} */
  answer(method, request) {
    const { nodeId, maxVolumes = 0, stages = true, attaches = true } = this.options;
    switch (method) {
      case 'Probe':
        return { ready: { value: true } };
      case 'GetPluginInfo':
        return { name: 'directory.csi.waybill', vendor_version: '1.0.0' };
      case 'GetPluginCapabilities':
        return { capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }] };
      case 'NodeGetInfo':
        return { node_id: nodeId, max_volumes_per_node: maxVolumes };
      case 'NodeGetCapabilities':
        return capabilities(...NODE_CAPABILITIES.filter((one) => stages || one !== 'STAGE_UNSTAGE_VOLUME'));
      case 'ControllerGetCapabilities':
        return capabilities(...CONTROLLER_CAPABILITIES.filter((one) => attaches || one !== 'PUBLISH_UNPUBLISH_VOLUME'));
      case 'NodeStageVolume':
        mount(this.#existing(request.volume_id), request.staging_target_path, false);
        return {};
      case 'NodeUnstageVolume':
        unmount(request.staging_target_path, { removes: false });
        return {};
      case 'NodePublishVolume': {
        const source = request.staging_target_path || this.#existing(request.volume_id);
        if (!existsSync(path.dirname(request.target_path)))
          throw new Refusal(status.INVALID_ARGUMENT, 'the parent of the target is missing');
        mount(source, request.target_path, request.readonly);
        return {};
      }
      case 'NodeUnpublishVolume':
        unmount(request.target_path, { removes: true });
        return {};
      case 'NodeExpandVolume':
        return { capacity_bytes: request.capacity_range?.required_bytes ?? '0' };
      default:
        return this.#controllerAnswer(method, request);
    }
  }

  /** @param {string} method @param {any} request */
  #controllerAnswer(method, request) {
    switch (method) {
      case 'CreateVolume':
        return { volume: this.#created(request) };
      case 'DeleteVolume':
        if (this.disks.provided.attached.some(({ disk }) => disk === request.volume_id))
          throw new Refusal(status.FAILED_PRECONDITION, 'it is attached');
        this.disks.remove(request.volume_id);
        return {};
      case 'ControllerPublishVolume': {
        this.#existing(request.volume_id);
        const attachment = { disk: request.volume_id, node: request.node_id };
        const others = this.disks.provided.attached.filter(({ disk }) => disk === attachment.disk);
        const multi = request.volume_capability.access_mode.mode.startsWith('MULTI');
        const elsewhere = others.find(({ node }) => node !== attachment.node);
        if (elsewhere && !multi) throw new Refusal(status.FAILED_PRECONDITION, `attached to ${elsewhere.node}`);
        if (others.every(({ node }) => node !== attachment.node))
          this.disks.change(({ attached }) => void attached.push(attachment));
        return { publish_context: { attached: request.node_id } };
      }
      case 'ControllerUnpublishVolume':
        this.disks.change((provided) => {
          provided.attached = provided.attached.filter(
            ({ disk, node }) => disk !== request.volume_id || node !== request.node_id,
          );
        });
        return {};
      case 'ValidateVolumeCapabilities':
        this.#existing(request.volume_id);
        return {
          confirmed: { volume_capabilities: request.volume_capabilities, volume_context: request.volume_context },
        };
      case 'ControllerExpandVolume':
        this.#existing(request.volume_id);
        return { capacity_bytes: request.capacity_range.required_bytes, node_expansion_required: true };
      case 'ListVolumes': {
        const { disks, attached } = this.disks.provided;
        const { page, next_token } = pageOf(disks, request);
        const entries = page.map((disk) => ({
          volume: { volume_id: disk.id, capacity_bytes: disk.bytes },
          status: { published_node_ids: attached.filter((one) => one.disk === disk.id).map(({ node }) => node) },
        }));
        return { entries, next_token };
      }
      case 'CreateSnapshot': {
        this.#existing(request.source_volume_id);
        const id = `cut-${request.name}`;
        const cut = { id, name: request.name, source: request.source_volume_id, bytes: '1024' };
        if (!this.disks.provided.cuts.some((one) => one.id === id))
          this.disks.change(({ cuts }) => void cuts.push(cut));
        return { snapshot: snapshotOf(cut) };
      }
      case 'DeleteSnapshot':
        this.disks.change((provided) => {
          provided.cuts = provided.cuts.filter(({ id }) => id !== request.snapshot_id);
        });
        return {};
      case 'ListSnapshots': {
        const { page, next_token } = pageOf(this.disks.provided.cuts, request);
        return { entries: page.map((cut) => ({ snapshot: snapshotOf(cut) })), next_token };
      }
      default:
        throw new Refusal(status.UNIMPLEMENTED, method);
    }
  }

  /** @param {any} request */
  #created(request) {
    const id = `disk-${request.name}`;
    const bytes = request.capacity_range?.required_bytes ?? '1048576';
    const disk = this.disks.find(id) ?? this.disks.add({ id, name: request.name, bytes });
    if (disk.bytes !== bytes) throw new Refusal(status.ALREADY_EXISTS, 'it has another size');
    return { volume_id: disk.id, capacity_bytes: disk.bytes, volume_context: { made: 'here' } };
  }

  /** @param {string} id */
  #existing(id) {
    if (!this.disks.find(id)) throw new Refusal(status.NOT_FOUND, `no disk ${id}`);
    return this.disks.directory(id);
  }
}

/** @param {string} file @returns {SeenCall[]} */
export function callsIn(file) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return lines.map((line) => JSON.parse(line)).filter(({ method }) => !/^(Probe|.*Get.*)$/.test(method));
}

/** @param {string[]} types */
export const capabilities = (...types) => ({ capabilities: types.map((type) => ({ rpc: { type } })) });

/** @param {import('./disks.mjs').Cut} cut */
const snapshotOf = ({ id, source, bytes }) => ({
  snapshot_id: id,
  source_volume_id: source,
  size_bytes: bytes,
  creation_time: { seconds: '1', nanos: 0 },
  ready_to_use: true,
});

/**
 * @template T
 * @param {T[]} all
 * @param {{ max_entries: number, starting_token: string }} request
 */
function pageOf(all, { max_entries, starting_token }) {
  const from = Number(starting_token || 0);
  if (Number.isNaN(from)) throw new Refusal(status.ABORTED, 'no such token');
  const to = max_entries > 0 ? from + max_entries : all.length;
  return { page: all.slice(from, to), next_token: to < all.length ? String(to) : '' };
}
