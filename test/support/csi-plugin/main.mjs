// The plugin as a process of its own: node main.mjs <root> <node id>, listening on CSI_ENDPOINT until SIGTERM or SIGINT.
import { DirectoryPlugin } from './directory-plugin.mjs';

const [root, nodeId] = process.argv.slice(2);
const endpoint = process.env['CSI_ENDPOINT'];
if (!root || !nodeId || !endpoint?.startsWith('unix://'))
  throw new Error('usage: CSI_ENDPOINT=unix:///… main.mjs <root> <node id>');

const plugin = new DirectoryPlugin({ root, nodeId });
await plugin.listen(endpoint.slice('unix://'.length));
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => plugin.close());
