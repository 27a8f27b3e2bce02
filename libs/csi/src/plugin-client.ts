import { ControllerClient } from './controller.js';
import { IdentityClient } from './identity.js';
import { NodeClient } from './node.js';
import { PluginConnection } from './plugin-connection.js';

type Public<T> = Pick<T, keyof T>;

/** A plugin that can be called. */
export interface CsiPlugin {
  readonly identity: Public<IdentityClient>;
  readonly controller: Public<ControllerClient>;
  readonly node: Public<NodeClient>;
  /** Cancels calls in flight. */
  close(): void;
}

/** One plugin with its three services behind one socket. It connects with the first call. */
export class PluginClient implements CsiPlugin {
  readonly identity: IdentityClient;
  readonly controller: ControllerClient;
  readonly node: NodeClient;
  private readonly connection: PluginConnection;

  /** @throws SocketPathTooLongError */
  constructor(socketPath: string) {
    this.connection = new PluginConnection(socketPath);
    this.identity = new IdentityClient(this.connection);
    this.controller = new ControllerClient(this.connection);
    this.node = new NodeClient(this.connection);
  }

  close(): void {
    this.connection.close();
  }
}
