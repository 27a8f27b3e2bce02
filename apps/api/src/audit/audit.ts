import type { AuditSource } from './audit-trail.js';
import type { Recorder } from './request-audit.js';

/** AuditParts says how requests are recorded, and where records are read. */
export interface AuditParts {
  readonly recorder: Recorder;
  readonly source: AuditSource;
}

/** Audit is the audit log of this API, on or off. */
export class Audit {
  /** @param parts undefined if it is off */
  constructor(readonly parts: AuditParts | undefined) {}

  /** Opens files again that were moved away (AU-279). */
  async reload(): Promise<void> {
    await this.parts?.recorder.log.reopen();
  }

  /** Closes the audit log. Call it when the last answer has been sent. */
  async close(): Promise<void> {
    await this.parts?.recorder.log.close();
  }
}
