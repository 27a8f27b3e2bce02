import type { OfflineCommand } from '../command-spec.js';
import { NO_ARGUMENTS } from '../command-spec.js';
import { saved } from '../certificates/certificate-files.js';
import { authorityFiles, daysOf, dnsNamesOf, labelsOf } from '../certificates/certificate-flags.js';
import { FlagFailure } from '../failure.js';

/** Default validity: five years. */
const DAYS = 1_825;

/** Creates a certificate authority in two new files (CL-937). */
export const command: OfflineCommand = {
  offline: true,
  usage: '',
  description:
    'Creates a certificate authority in two files in this directory: its certificate, which is public, and its ' +
    'key, which signs certificates and must not be copied to a server. Existing files are never overwritten.',
  flags: [
    {
      name: 'common-name',
      kind: 'text',
      value: 'name',
      help: 'Name of the CA (Waybill Agent CA); a number follows it.',
    },
    { name: 'organization', kind: 'text', value: 'name', help: 'Organization in its name (Waybill).' },
    { name: 'days', kind: 'integer', value: 'n', help: `How long it is valid (${DAYS}).` },
    {
      name: 'domain',
      kind: 'text',
      value: 'name',
      help: 'Domain of the cluster, and first part of the names of the files (nomad).',
    },
    {
      name: 'name-constraint',
      kind: 'switch',
      help: 'Restrict the CA to names below -domain, localhost and -additional-domain.',
    },
    {
      name: 'additional-domain',
      kind: 'list',
      value: 'name',
      help: 'Additional domain for -name-constraint. May be repeated.',
    },
  ],
  takes: NO_ARGUMENTS,
  async run({ flags, terminal }) {
    const domain = labelsOf(flags, 'domain', 'nomad');
    const constrained = flags.on('name-constraint');
    const more = dnsNamesOf(flags, 'additional-domain');
    if (!constrained && (more.length > 0 || flags.given('domain')))
      throw new FlagFailure('-domain and -additional-domain are for a CA with -name-constraint');
    const days = daysOf(flags, DAYS);
    const { createAuthority } = await import('@waybill/certificates');
    const pair = await createAuthority({
      commonName: flags.text('common-name') ?? 'Waybill Agent CA',
      organization: flags.text('organization') ?? 'Waybill',
      days,
      ...(constrained && { permittedDomains: [domain, 'localhost', ...more] }),
      nowMs: Date.now(),
    });
    const files = authorityFiles(domain);
    await saved(files, pair);
    terminal.print(`==> CA Certificate saved to: ${files.certificate}`);
    terminal.print(`==> CA Certificate key saved to: ${files.key}`);
    return 0;
  },
};
