// hostpath-like.mjs --endpoint=unix:///… --nodeid=… --statedir=…: as one would start the hostpath driver.
import { parseArgs } from 'node:util';
import { HostpathLikePlugin } from './hostpath-like-plugin.mjs';

const text = /** @type {const} */ ({ type: 'string', default: '' });
const { values } = parseArgs({ options: { endpoint: text, nodeid: text, statedir: text, drivername: text } });
const { endpoint, nodeid: nodeId, statedir: root } = values;
if (!endpoint.startsWith('unix://') || !nodeId || !root) throw new Error('needs --endpoint, --nodeid and --statedir');

const plugin = new HostpathLikePlugin({ root, nodeId });
await plugin.listen(endpoint.slice('unix://'.length));
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => plugin.close());
