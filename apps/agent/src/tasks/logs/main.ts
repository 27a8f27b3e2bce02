import { createLogger } from '@waybill/telemetry';
import { runCollector } from './collector-process.js';

const [dir] = process.argv.slice(2);
if (dir === undefined) throw new Error('usage: main.js <directory of log streams>');
// The collector ignores a terminal's Ctrl-C and the end of the agent's session, because tasks still write.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
await runCollector(dir, createLogger('log-collector', 'warn', { destination: process.stderr }));
