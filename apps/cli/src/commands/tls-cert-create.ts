import { CommandFailure } from '../failure.js';
import { type OfflineCommand, NO_ARGUMENTS } from '../command-spec.js';
import { readText, saved, unusable } from '../certificates/certificate-files.js';
import { addressesOf, authorityFiles, daysOf, dnsNamesOf, labelsOf } from '../certificates/certificate-flags.js';
import { goTime } from '../certificates/certificate-lines.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

const DAYS = 365;
const ROLES = ['server', 'client', 'cli'] as const;
type Role = (typeof ROLES)[number];

const SERVER_WARNING = `==> WARNING: Server Certificates grants authority to become a
    server and access all state in the cluster including root keys
    and all ACL tokens. Do not distribute them to production hosts
    that are not server nodes. Store them as securely as CA keys.`;

/** Creates a certificate and its key, signed by an authority, for one role (CL-937). */
export const command: OfflineCommand = {
  offline: true,
  usage: '',
  description:
    'Creates a certificate and its key in two files in this directory, signed by a CA of "tls ca create": for a ' +
    'server, for the agent of a machine, or for the command line. Existing files are never overwritten.',
  flags: [
    { name: 'server', kind: 'switch', help: 'For a server: of the API, of NATS or of PostgreSQL.' },
    { name: 'client', kind: 'switch', help: 'For the agent of a machine.' },
    { name: 'cli', kind: 'switch', help: 'For the command line and other callers of the API.' },
    { name: 'region', kind: 'text', value: 'name', help: 'Region of its name, as in server.<region>.nomad (global).' },
    { name: 'domain', kind: 'text', value: 'name', help: 'Domain of its name and of the files of the CA (nomad).' },
    { name: 'days', kind: 'integer', value: 'n', help: `How long it is valid (${DAYS}); no longer than the CA.` },
    {
      name: 'additional-dnsname',
      kind: 'list',
      value: 'name',
      help: 'Additional host name beside localhost. May be repeated.',
    },
    {
      name: 'additional-ipaddress',
      kind: 'list',
      value: 'address',
      help: 'Additional IP address beside 127.0.0.1. May be repeated.',
    },
    { name: 'ca', kind: 'text', value: 'file', help: 'Certificate of the CA (<domain>-agent-ca.pem).' },
    { name: 'key', kind: 'text', value: 'file', help: 'Key of the CA (<domain>-agent-ca-key.pem).' },
  ],
  takes: NO_ARGUMENTS,
  async run({ flags, terminal }) {
    const role = roleOf(flags);
    const region = labelsOf(flags, 'region', 'global');
    const domain = labelsOf(flags, 'domain', 'nomad');
    const days = daysOf(flags, DAYS);
    const names = dnsNamesOf(flags, 'additional-dnsname');
    const addresses = addressesOf(flags, 'additional-ipaddress');
    const ca = authorityFiles(domain);
    const caFile = flags.text('ca') ?? ca.certificate;
    const keyFile = flags.text('key') ?? ca.key;
    const [certificate, key] = [await readText(caFile), await readText(keyFile)];
    if (role === 'server') terminal.warn(SERVER_WARNING);
    terminal.print(`==> Using CA file ${caFile} and CA key ${keyFile}`);
    const { CertificateError, issueCertificate } = await import('@waybill/certificates');
    const commonName = `${role}.${region}.${domain}`;
    const pair = await issueCertificate({
      authority: { certificate, key },
      commonName,
      names: [...new Set([commonName, 'localhost', ...names])],
      addresses: [...new Set([...(role === 'cli' ? [] : ['127.0.0.1']), ...addresses])],
      purpose: role === 'cli' ? 'caller' : 'both',
      days,
      nowMs: Date.now(),
    }).catch((error: unknown) => {
      throw error instanceof CertificateError ? unusable(caFile, error) : error;
    });
    if (pair.endsWithAuthority)
      terminal.warn(`==> The CA ends on ${goTime(pair.notAfter)}, and the certificate with it`);
    const stem = `${region}-${role}-${domain}`;
    const files = { certificate: `${stem}.pem`, key: `${stem}-key.pem` };
    await saved(files, pair);
    const title = `${role.charAt(0).toUpperCase()}${role.slice(1)}`;
    terminal.print(`==> ${title} Certificate saved to ${files.certificate}`);
    terminal.print(`==> ${title} Certificate key saved to ${files.key}`);
    return 0;
  },
};

/** @throws CommandFailure */
function roleOf(flags: ParsedFlags): Role {
  const [role, ...others] = ROLES.filter((one) => flags.on(one));
  if (role === undefined || others.length > 0)
    throw new CommandFailure('Please provide either -server, -client, or -cli');
  return role;
}
