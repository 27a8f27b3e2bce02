import type Docker from 'dockerode';
import type { DockerPolicy } from './container-options.js';
import { undefinedIfMissing } from './engine.transport.js';

/** EngineInfo is the part of the engine's information that the agent reads. */
interface EngineInfo {
  readonly OSType?: string;
  readonly Runtimes?: Readonly<Record<string, unknown>>;
}

/** Returns the engine's attributes for the node (agent.md section 4). @throws Error if the engine does not answer */
export async function engineAttributes(engine: Docker, policy: DockerPolicy): Promise<Record<string, string>> {
  const [version, info] = await Promise.all([engine.version(), engine.info() as Promise<EngineInfo>]);
  const bridge = await bridgeOf(engine);
  return {
    'driver.docker': '1',
    'driver.docker.version': version.Version,
    'driver.docker.os_type': info.OSType ?? version.Os,
    'driver.docker.runtimes': Object.keys(info.Runtimes ?? {})
      .toSorted()
      .join(','),
    ...(bridge && { 'driver.docker.bridge_ip': bridge }),
    ...(policy.volumes && { 'driver.docker.volumes.enabled': 'true' }),
    ...(policy.privileged && { 'driver.docker.privileged.enabled': 'true' }),
  };
}

async function bridgeOf(engine: Docker): Promise<string | undefined> {
  const found = await undefinedIfMissing(engine.getNetwork('bridge').inspect());
  return found?.IPAM?.Config?.find(({ Gateway }) => Gateway)?.Gateway;
}
