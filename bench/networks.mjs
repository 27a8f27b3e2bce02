// Networks of allocations on one machine, with real CNI plugins in network namespaces of their own.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median } from './harness.mjs';

export const describe = 'networks of mode bridge: set-up beside the plugins, 200 at once, their removal (needs root)';

const SINGLE = 20;
const BURST = 200;
const WORKER = fileURLToPath(new URL('network-setups.mjs', import.meta.url));
/** A machine of its own, of which nothing is left afterwards. */
const MACHINE = 'mount -t tmpfs run /run && ip link set lo up && mkdir -p /run/netns /run/cni && exec "$@"';

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  ctx.log(`${SINGLE} networks one after the other, then ${BURST} at once`);
  const own = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', MACHINE, 'sh'];
  const { stdout } = await promisify(execFile)('unshare', [
    ...own,
    process.execPath,
    WORKER,
    String(SINGLE),
    String(BURST),
  ]);
  /** @type {{ singles: { ms: number, pluginMs: number }[], burstMs: number, cleanupMs: number }} */
  const { singles, burstMs, cleanupMs } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  ctx.metric('setupMs', median(singles.map(({ ms }) => ms)), { unit: 'ms' });
  ctx.metric('setupOverheadMs', median(singles.map(({ ms, pluginMs }) => ms - pluginMs)), {
    unit: 'ms',
    goal: { below: 60 },
  });
  ctx.metric('burstSeconds', burstMs / 1_000, { unit: 's', goal: { below: 20 } });
  ctx.metric('cleanupSeconds', cleanupMs / 1_000, { unit: 's', goal: { below: 10 } });
  ctx.note('networks without tasks, with one mapped port each; the overhead is what the plugins do not take');
}
