import type { OfflineCommand } from '../command-spec.js';
import { readText, unusable } from '../certificates/certificate-files.js';
import { goList, goTime, infoLines } from '../certificates/certificate-lines.js';

/** Shows a certificate (CL-937). */
export const command: OfflineCommand = {
  offline: true,
  usage: '<certificate file>',
  description: 'Shows a certificate: its issuer, its subject, its expiry, and its names and addresses.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <certificate file>' },
  async run({ args: [file = ''], terminal }) {
    const text = await readText(file);
    const { CertificateError, describeCertificate } = await import('@waybill/certificates');
    try {
      const info = describeCertificate(text);
      terminal.print(
        infoLines([
          ['Serial Number', info.serialNumber],
          ['Issuer CN', info.issuerCommonName],
          ['Common Name', info.subject],
          ['Expiry Date', goTime(info.notAfter)],
          ['DNS Names', goList(info.names)],
          ['IP Addresses', goList(info.addresses)],
        ]),
      );
      return 0;
    } catch (error) {
      throw error instanceof CertificateError ? unusable(file, error) : error;
    }
  },
};
