import type { Call, ServerCommand } from '../command-spec.js';
import { openInBrowser } from '../server/browser.js';
import { causeOf, CommandFailure } from '../failure.js';
import { search } from '../server/search.js';
import { sortedEntries } from '../terminal/sorted-entries.js';

/** Pages by kind of object. */
const PAGE_OF: Readonly<Record<string, (id: string, namespace: string | undefined) => string>> = {
  allocs: (id) => `/ui/allocations/${id}`,
  jobs: (id, namespace) =>
    `/ui/jobs/${encodeURIComponent(id)}${namespace === undefined ? '' : `@${encodeURIComponent(namespace)}`}`,
  nodes: (id) => `/ui/clients/${id}`,
};

/** Opens the web UI, or prints its address under `-show-url` (CL-905). */
export const command: ServerCommand = {
  usage: '[<id>]',
  description: 'Opens the web UI, at the page of a job, an allocation or a node if its ID is given.',
  flags: [{ name: 'show-url', kind: 'switch', help: 'Print the address and open nothing.' }],
  takes: { min: 0, max: 1, otherwise: 'This command takes no or one optional argument, [<id>]' },
  async run(call) {
    const { flags, terminal, args } = call;
    const url = new URL(call.api.connection.url);
    const { namespace, region } = call.api.connection;
    if (args[0] !== undefined) url.pathname = await pageOf(call, args[0]);
    for (const [name, value] of Object.entries({ namespace, region }))
      if (value !== undefined) url.searchParams.set(name, value);
    const address = args[0] === undefined ? url.href.replace(/\/(?=\?|$)/, '') : url.href;
    if (flags.on('show-url')) {
      terminal.print(`URL for web UI: ${address}`);
      return 0;
    }
    terminal.print(`Opening URL "${address}"`);
    await openInBrowser(address, call.env).catch((error: unknown) => {
      throw new CommandFailure(`Error opening URL: ${causeOf(error)}`);
    });
    return 0;
  },
};

/** @throws CommandFailure */
async function pageOf({ api }: Call, id: string): Promise<string> {
  const { Matches } = await search(api, id, 'all');
  const found = sortedEntries(Matches).flatMap(([context, ids]) => (ids ?? []).map((one) => [context, one] as const));
  const candidates = found.filter(([context]) => PAGE_OF[context] !== undefined);
  const [only, another] = candidates.some(([, one]) => one === id)
    ? candidates.filter(([, one]) => one === id)
    : candidates;
  if (!only) throw new CommandFailure(`Unable to resolve ID: "${id}"`);
  if (another) throw new CommandFailure(`Multiple matches found for id "${id}"`);
  return PAGE_OF[only[0]]?.(only[1], api.connection.namespace) ?? '';
}
