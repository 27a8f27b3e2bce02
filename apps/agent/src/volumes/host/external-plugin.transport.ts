import { errorText } from '@waybill/model';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { sendSignal } from '@waybill/processes';
import { type CreatedOnNode, HOST_VOLUME_PLUGIN_TIMEOUT_MS, type HostVolumeOnNode } from '@waybill/rpc';
import { type HostVolumePlugin, HostVolumeRefusal } from './host-volume-plugin.js';

const FINGERPRINT_TIMEOUT_MS = 5_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

type Operation = 'fingerprint' | 'create' | 'delete';

/** ExternalPluginPlace is an executable in the agent's plugin directory. */
export interface ExternalPluginPlace {
  readonly id: string;
  readonly file: string;
  readonly pluginDir: string;
  readonly volumesDir: string;
}

/**
 * ExternalPlugin is an installed plugin (VL-295). It is a program that runs once per operation, gets its input in its
 * environment, and answers with JSON on its output. Of the agent's own environment it gets only PATH. If it takes too
 * long, it is killed with all processes that it started.
 */
export class ExternalPlugin implements HostVolumePlugin {
  private constructor(
    private readonly place: ExternalPluginPlace,
    readonly version: string,
  ) {}

  /** Makes the plugin after asking the program for its version. @throws HostVolumeRefusal */
  static async at(place: ExternalPluginPlace): Promise<ExternalPlugin> {
    const { version } = await runPlugin(place, 'fingerprint', {}, FINGERPRINT_TIMEOUT_MS);
    if (typeof version !== 'string' || version === '')
      throw new HostVolumeRefusal(`plugin "${place.id}" says no version of itself`);
    return new ExternalPlugin(place, version);
  }

  async create(volume: HostVolumeOnNode): Promise<CreatedOnNode> {
    const { id } = this.place;
    const { path, bytes = 0 } = await runPlugin(this.place, 'create', environmentOf(volume));
    if (typeof path !== 'string' || !path.startsWith('/'))
      throw new HostVolumeRefusal(`plugin "${id}" does not say where the volume is`);
    if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0)
      throw new HostVolumeRefusal(`plugin "${id}" does not say how large the volume is`);
    return { HostPath: path, CapacityBytes: bytes };
  }

  async delete(volume: HostVolumeOnNode): Promise<void> {
    await runPlugin(this.place, 'delete', { ...environmentOf(volume), DHV_CREATED_PATH: volume.HostPath });
  }
}

const environmentOf = (volume: HostVolumeOnNode): Record<string, string> => ({
  DHV_NAMESPACE: volume.Namespace,
  DHV_VOLUME_NAME: volume.Name,
  DHV_VOLUME_ID: volume.ID,
  DHV_NODE_ID: volume.NodeID,
  DHV_NODE_POOL: volume.NodePool,
  DHV_CAPACITY_MIN_BYTES: String(volume.RequestedCapacityMinBytes),
  DHV_CAPACITY_MAX_BYTES: String(volume.RequestedCapacityMaxBytes),
  DHV_PARAMETERS: JSON.stringify(volume.Parameters ?? {}),
});

/**
 * Runs the program and returns its answer; no output is an empty answer.
 * @throws HostVolumeRefusal with the program's message, if there is one
 */
async function runPlugin(
  { id, file, pluginDir, volumesDir }: ExternalPluginPlace,
  operation: Operation,
  about: Readonly<Record<string, string>>,
  timeoutMs = HOST_VOLUME_PLUGIN_TIMEOUT_MS,
): Promise<Readonly<Record<string, unknown>>> {
  const env = {
    PATH: process.env['PATH'],
    DHV_OPERATION: operation,
    DHV_PLUGIN_DIR: pluginDir,
    DHV_VOLUMES_DIR: volumesDir,
    ...about,
  };
  const pluginFailure = (why: string): HostVolumeRefusal =>
    new HostVolumeRefusal(`plugin "${id}" failed to ${operation}: ${why}`);
  const child = spawn(file, [operation], { cwd: pluginDir, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let isLate = false;
  const killing = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) sendSignal(child.pid, 'SIGKILL', true);
  }, timeoutMs);
  try {
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    const [code, output, complaints] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    if (isLate) throw pluginFailure(`no answer within ${timeoutMs / 1000} s`);
    const answer = parseOutput(output);
    const said = answer?.['error'];
    if (typeof said === 'string' && said !== '') throw pluginFailure(said);
    if (code !== 0) throw pluginFailure(complaints.trim().slice(0, 1024) || `exit code ${code}`);
    if (answer === undefined) throw pluginFailure('its answer is no JSON object');
    return answer;
  } catch (error) {
    throw error instanceof HostVolumeRefusal ? error : pluginFailure(errorText(error));
  } finally {
    clearTimeout(killing);
  }
}

function parseOutput(output: string): Readonly<Record<string, unknown>> | undefined {
  if (output.length > MAX_OUTPUT_BYTES) return undefined;
  if (output.trim() === '') return {};
  try {
    const answer: unknown = JSON.parse(output);
    return typeof answer === 'object' && answer !== null && !Array.isArray(answer) ? { ...answer } : undefined;
  } catch {
    return undefined;
  }
}
