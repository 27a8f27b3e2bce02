import { chown, copyFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { makeDirectory } from '@waybill/processes';
import type { PostgresCluster } from './postgres-cluster.js';
import type { ServerTls } from './server-tls.js';

const placesIn = ({ home }: Pick<PostgresCluster, 'home'>) => {
  const directory = path.join(home, 'tls');
  return { directory, cert: path.join(directory, 'server.pem'), key: path.join(directory, 'server-key.pem') };
};

/**
 * Copies certificate and key to where the server's user, who may be another one, can read them. Nobody else can read
 * the key.
 */
export async function placeServerTls(cluster: PostgresCluster, { certFile, keyFile }: ServerTls): Promise<void> {
  const { directory, cert, key } = placesIn(cluster);
  await makeDirectory(directory, { mode: 0o700 });
  for (const [from, to] of [
    [certFile, cert],
    [keyFile, key],
  ] as const) {
    const draft = `${to}.new`;
    await copyFile(from, draft); // the mode of the key, 0600, is copied too
    if (cluster.user) await chown(draft, cluster.user.uid, cluster.user.gid);
    await rename(draft, to);
  }
  if (cluster.user) await chown(directory, cluster.user.uid, cluster.user.gid);
}

export function tlsSettings(cluster: PostgresCluster): string[] {
  const { cert, key } = placesIn(cluster);
  return ['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`, 'ssl_min_protocol_version=TLSv1.2'];
}
