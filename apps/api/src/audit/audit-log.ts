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

/** AuditSink is a destination of records. */
export interface AuditSink {
  readonly name: string;
  /**
   * Writes a line. The promise resolves when the line is written and rejects when it is not. Lines are written in the
   * order of the calls.
   */
  write(line: string): Promise<void>;
  /** Opens the files again that other programs may have moved away. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export interface AuditLogOptions {
  readonly sinks: readonly AuditSink[];
  /** Says whether a request is answered only when it is recorded. */
  readonly isEnforced: boolean;
  readonly leavesOut: LeavesOut;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly logger: Logger;
  /** Counts a record that was not written and whose request continues. */
  readonly dropped: () => void;
}

/**
 * These paths are answered even if their records cannot be written. A monitor must not conclude that the server is
 * dead. [AU-278]
 */
const ALWAYS_ANSWERED: readonly string[] = ['/v1/agent/health', '/v1/metrics'];

export interface NewRecord {
  readonly stage: Stage;
  readonly auth: AuditAuth;
  readonly request: AuditRequest;
  readonly response?: AuditResponse;
  /** The ID and the time in unix ms of something that happened elsewhere. By default they are new. */
  readonly happened?: { readonly id: string; readonly timeMs: number };
}

/**
 * AuditLog writes records to all sinks. With `enforced`, a request waits until each of its records is written, and
 * fails if one is not. With `best-effort`, nothing waits, and unwritten records are counted. The log of the process
 * reports once when a sink begins to fail, and once when it recovers. The class keeps no record.
 */
export class AuditLog {
  private readonly failing = new Set<string>();

  constructor(private readonly options: AuditLogOptions) {}

  /**
   * Makes a record. A record that filters leave out is returned, because it is written after all if its request is
   * refused (AU-280).
   */
  record({ stage, auth, request, response, happened }: NewRecord): { record: AuditRecord; isLeftOut: boolean } {
    const time = auditTime(happened?.timeMs ?? this.options.clock.nowMs());
    const isLeftOut = this.options.leavesOut({
      stage,
      endpoint: request.endpoint,
      route: request.route,
      operation: request.operation,
      status: response?.status_code,
    });
    const payload = {
      id: happened?.id ?? this.options.newId(),
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

  /** @throws Refusal internal if writing is enforced and fails (AU-278) */
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
