import { readAgentSelf } from '../agent/agent-self.js';
import { openInBrowser } from './browser.js';
import type { Call } from '../command-spec.js';
import { environmentNameOf } from './connection.js';
import { causeOf } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import { booleanOf } from '../flags/parsed-flags.js';

export const UI_FLAG: Flag = { name: 'ui', kind: 'switch', help: 'Open it in the web UI.' };

/** Returns the path of a job's page. It contains the job's own namespace, whatever the flags say (CL-173). */
export const jobPage = (id: string, namespace: string): string =>
  `/jobs/${encodeURIComponent(id)}@${encodeURIComponent(namespace)}`;

/** Longest duration of the lookup in milliseconds. */
const LOOKUP_MS = 2_000;

/**
 * Prints where to see more in the web UI, on stderr (CL-171), and opens the page with -ui (CL-173). Prints nothing if
 * the command prints data.
 * @param path below `/ui`, escaped
 */
export async function webHint(
  call: Call,
  description: string,
  path: string,
  { beforeMonitor = false }: { readonly beforeMonitor?: boolean } = {},
): Promise<void> {
  if (call.data || (call.flags.has('quiet') && call.flags.on('quiet'))) return;
  const { url } = call.api.connection;
  const address = `${url.href.replace(/\/$/, '')}/ui${path}`;
  const wanted = await hintsWanted(call);
  if (wanted) call.terminal.note(`\n\n==> ${description} in the Web UI: ${address}${beforeMonitor ? '\n' : ''}`);
  if (!call.flags.has('ui') || !call.flags.on('ui')) return;
  await openInBrowser(address, call.env).catch((error: unknown) => {
    call.terminal.warn(`Failed to open browser: ${causeOf(error)}`);
  });
}

/**
 * Whether hints are enabled: by the environment's setting, otherwise the agent's. A failed lookup disables them
 * (CL-172).
 */
async function hintsWanted({ env, api, terminal }: Call): Promise<boolean> {
  const [name, text] = environmentNameOf(env, 'CLI_SHOW_HINTS') ?? [];
  const own = text === undefined ? undefined : booleanOf(text);
  if (text !== undefined && own === undefined)
    terminal.warn(`Invalid value "${text}" for ${name}: neither true nor false`);
  if (own === false) return false;
  try {
    const { value } = await readAgentSelf(api.until(AbortSignal.timeout(LOOKUP_MS)));
    return own === true || value.config?.UI?.ShowCLIHints !== false;
  } catch {
    return false;
  }
}
