import type { TlsIdentity } from '@waybill/service';
import type { Audit } from '../audit/audit.js';

/** ReloadableFiles are the files that a running API reads again on request: certificates and the audit log (OP-79). */
export class ReloadableFiles {
  constructor(
    private readonly certificates: Pick<TlsIdentity, 'reload'>,
    private readonly audit: Pick<Audit, 'reload'>,
  ) {}

  async reload(): Promise<void> {
    await this.certificates.reload();
    await this.audit.reload();
  }
}
