import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { gzipSync } from 'node:zlib';

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const TRICKLE_MS = 50;
/** All but the layer of an image are smaller. */
const MAX_CONFIG_BYTES = 10_000;

export interface RegistryOptions {
  /** An uncompressed archive of the files of the only image. */
  readonly layer: Buffer;
  readonly repository: string;
  readonly tag: string;
  readonly username: string;
  readonly password: string;
  /** Where it listens. */
  readonly port: number;
  readonly key: string;
  readonly certificate: string;
}

/** A registry of images over TLS with one image, which asks for a name and a password. It speaks what a pull needs. */
export class ImageRegistry {
  /** Requests with the right password, as method and path. */
  readonly served: string[] = [];
  /** Whether it sends a layer byte by byte, so that a pull takes hours. */
  isStalled = false;
  /** The number of open requests for such layers. */
  stalled = 0;

  private constructor(private readonly server: Server) {}

  static async start(options: RegistryOptions): Promise<ImageRegistry> {
    const blobs = blobsOf(options.layer);
    const server = createServer({ key: options.key, cert: options.certificate });
    server.listen(options.port, '127.0.0.1');
    await once(server, 'listening');
    const registry = new ImageRegistry(server);
    const wanted = `Basic ${Buffer.from(`${options.username}:${options.password}`).toString('base64')}`;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (request.headers.authorization !== wanted) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="tests"', 'content-type': 'application/json' });
        return void response.end('{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}');
      }
      registry.served.push(`${request.method} ${request.url}`);
      const [, repository, kind, name = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(request.url ?? '') ?? [];
      if (request.url === '/v2/') return void response.end('{}');
      const digest = kind === 'manifests' && name === options.tag ? blobs.manifest : name;
      const found = repository === options.repository ? blobs.all.get(digest) : undefined;
      if (!found)
        return void response
          .writeHead(404)
          .end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
      const type = kind === 'manifests' ? MANIFEST : 'application/octet-stream';
      response.writeHead(200, {
        'content-type': type,
        'content-length': found.length,
        'docker-content-digest': digest,
      });
      if (registry.isStalled && found.length > MAX_CONFIG_BYTES) {
        registry.stalled++;
        let sent = 0;
        // An engine notices that nobody wants the layer when the next byte comes.
        const trickle = setInterval(() => response.write(found.subarray(sent, ++sent)), TRICKLE_MS);
        return void response.on('close', () => {
          clearInterval(trickle);
          registry.stalled--;
        });
      }
      response.end(request.method === 'HEAD' ? undefined : found);
    });
    return registry;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

function blobsOf(layer: Buffer): { readonly all: ReadonlyMap<string, Buffer>; readonly manifest: string } {
  const compressed = gzipSync(layer);
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: { Env: ['PATH=/bin'] },
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
      history: [{ created: '2026-01-01T00:00:00Z' }],
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: {
        mediaType: 'application/vnd.docker.container.image.v1+json',
        size: config.length,
        digest: digestOf(config),
      },
      layers: [
        {
          mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
          size: compressed.length,
          digest: digestOf(compressed),
        },
      ],
    }),
  );
  const all = new Map([manifest, config, compressed].map((blob) => [digestOf(blob), blob]));
  return { all, manifest: digestOf(manifest) };
}
