import type { AuditStream } from '@waybill/journal';
import { badRequest } from '../http/api-error.js';
import type { AuditSource, StoredLine } from './audit-trail.js';

/**
 * AuditRecords reads the audit log of all APIs of the region from the stream AUDIT. A token is the sequence at which
 * the page before ended.
 */
export class AuditRecords implements AuditSource {
  constructor(private readonly stream: Pick<AuditStream, 'backwards'>) {}

  async *backwards(token: string): AsyncGenerator<StoredLine> {
    if (!/^\d{0,15}$/.test(token)) throw badRequest(`invalid next_token ${JSON.stringify(token)}`);
    for await (const { sequence, line } of this.stream.backwards(token === '' ? undefined : Number(token)))
      yield { line, token: String(sequence) };
  }
}
