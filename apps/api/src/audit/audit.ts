import type { AuditSource } from './audit-trail.js';
import type { Recorder } from './request-audit.js';

/** The audit log of this API: how requests are recorded, and where records are read. */
export interface AuditParts {
  readonly recorder: Recorder;
  readonly source: AuditSource;
}

/** The audit log, on or off. */
export class Audit {
  /** @param parts undefined: it is off */
  constructor(readonly parts: AuditParts | undefined) {}

  /** Files that were moved away are opened anew (AU-279). */
  async reload(): Promise<void> {
    await this.parts?.recorder.log.reopen();
  }

  /** When the last answer has gone out. */
  async close(): Promise<void> {
    await this.parts?.recorder.log.close();
  }
}
