import type { Clock } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import { serverFailure } from '../http/api-error.js';
import type { LeavesOut } from './audit-filter.js';
import {
  type AuditAuth,
  type AuditRecord,
  type AuditRequest,
  type AuditResponse,
  auditTime,
  type Stage,
} from './audit-record.js';

/** Where records go. */
export interface AuditSink {
  readonly name: string;
  /** Resolves when the line is written; rejects when it is not. Lines are written in the order they come. */
  write(line: string): Promise<void>;
  /** Opens anew what others may have moved away. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export interface AuditLogOptions {
  readonly sinks: readonly AuditSink[];
  /** Whether a request is only answered when it is recorded. */
  readonly isEnforced: boolean;
  readonly leavesOut: LeavesOut;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly logger: Logger;
  /** A record was not written, and its request goes on. */
  readonly dropped: () => void;
}

/** Answered whatever becomes of their records: what watches a server must not be told that it is dead (AU-278). */
const ALWAYS_ANSWERED: readonly string[] = ['/v1/agent/health', '/v1/metrics'];

export interface NewRecord {
  readonly stage: Stage;
  readonly auth: AuditAuth;
  readonly request: AuditRequest;
  readonly response?: AuditResponse;
}

/**
 * Writes records to all sinks. `enforced`: a request waits until each of its records is written, and fails if one is
 * not. `best-effort`: nobody waits, and what cannot be written is counted. A sink that begins to fail is told of in the log
 * of the process once, and so is its recovery. Holds nothing.
 */
export class AuditLog {
  private readonly failing = new Set<string>();

  constructor(private readonly options: AuditLogOptions) {}

  /** A record that filters leave out is returned: it is written after all if its request is refused (AU-280). */
  record({ stage, auth, request, response }: NewRecord): { record: AuditRecord; isLeftOut: boolean } {
    const time = auditTime(this.options.clock.nowMs());
    const isLeftOut = this.options.leavesOut({
      stage,
      endpoint: request.endpoint,
      route: request.route,
      operation: request.operation,
      status: response?.status_code,
    });
    const payload = {
      id: this.options.newId(),
      stage,
      type: 'audit',
      timestamp: time,
      version: 1,
      auth,
      request,
    } as const;
    return {
      isLeftOut,
      record: { created_at: time, event_type: 'audit', payload: response ? { ...payload, response } : payload },
    };
  }

  /** @throws Refusal internal: it is enforced and cannot be written (AU-278) */
  async write(record: AuditRecord): Promise<void> {
    const line = `${JSON.stringify(record)}\n`;
    const isNeeded = this.options.isEnforced && !ALWAYS_ANSWERED.includes(record.payload.request.endpoint);
    const written = Promise.all(this.options.sinks.map((sink) => this.writeTo(sink, line)));
    if (!isNeeded) {
      void written.then((all) => all.every(Boolean) || this.options.dropped());
      return;
    }
    if (!(await written).every(Boolean)) throw serverFailure('failed to write audit record');
  }

  async reopen(): Promise<void> {
    await Promise.all(this.options.sinks.map((sink) => sink.reopen()));
  }

  async close(): Promise<void> {
    await Promise.all(this.options.sinks.map((sink) => sink.close()));
  }

  private async writeTo(sink: AuditSink, line: string): Promise<boolean> {
    const { logger } = this.options;
    try {
      await sink.write(line);
      if (this.failing.delete(sink.name)) logger.info('audit records are written again', { sink: sink.name });
      return true;
    } catch (error) {
      if (!this.failing.has(sink.name)) logger.error('audit records cannot be written', { sink: sink.name, error });
      this.failing.add(sink.name);
      return false;
    }
  }
}
