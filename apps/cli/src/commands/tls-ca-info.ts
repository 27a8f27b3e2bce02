import type { OfflineCommand } from '../command-spec.js';
import { readText, unusable } from '../certificates/certificate-files.js';
import { authorityFiles } from '../certificates/certificate-flags.js';
import { goList, goTime, infoLines } from '../certificates/certificate-lines.js';
import { CommandFailure } from '../failure.js';

/** Shows the certificate of an authority (CL-937). */
export const command: OfflineCommand = {
  offline: true,
  usage: '[<CA file>]',
  description: `Shows the certificate of a CA, by default ${authorityFiles('nomad').certificate}.`,
  flags: [],
  takes: { min: 0, max: 1, otherwise: 'This command takes up to one argument: <CA file>' },
  async run({ args: [file = authorityFiles('nomad').certificate], terminal }) {
    const text = await readText(file);
    const { CertificateError, describeCertificate, permittedDomains } = await import('@waybill/certificates');
    try {
      const info = describeCertificate(text);
      if (!info.isAuthority) throw new CommandFailure(`${file} is not the certificate of a CA: see tls cert info`);
      terminal.print(
        infoLines([
          ['Serial Number', info.serialNumber],
          ['Issuer CN', info.issuerCommonName],
          ['Common Name', info.subject],
          ['Expiry Date', goTime(info.notAfter)],
          ['Permitted DNS Domains', goList(permittedDomains(text))],
        ]),
      );
      return 0;
    } catch (error) {
      throw error instanceof CertificateError ? unusable(file, error) : error;
    }
  },
};
