import type { TaskState } from '@waybill/model';
import { type ReadLogRequest, type ReadLogResponse, RpcError } from '@waybill/rpc';
import { escapeError } from '../../allocations/files/allocation-file-path.js';
import { NotPlainError } from '../../paths/plain-file.store.js';
import { readLogChunk } from './log-reader.js';

/** The largest number of concurrent log reads of one agent. A refused follower tries again. */
export const MAX_LOG_READS = 200;

/**
 * TaskLogs answers reads of task logs (agent.md section 21). Cost of a read that waits: one look at the directory every
 * 50 ms.
 */
export class TaskLogs {
  private reading = 0;

  constructor(
    private readonly logsDirOf: (allocId: string, task: string) => string,
    private readonly stateOf: (allocId: string, task: string) => TaskState | undefined,
  ) {}

  /**
   * Reads a part of a log.
   * @throws RpcError not-found for a task that is not here or never ran, invalid for a link (AG-302), limit
   */
  async readLog(request: ReadLogRequest): Promise<ReadLogResponse> {
    const { AllocID, Task } = request;
    const state = this.stateOf(AllocID, Task);
    if (!state) throw new RpcError('not-found', `state for allocation ${AllocID} not found on client`);
    if (this.reading >= MAX_LOG_READS) throw new RpcError('limit', 'too many log reads on this machine');
    this.reading++;
    try {
      const chunk = await readLogChunk({
        logsDir: this.logsDirOf(AllocID, Task),
        task: Task,
        type: request.Type,
        origin: request.Origin,
        offset: Math.max(0, request.Offset),
        limit: request.Limit,
        waitMs: request.WaitMs,
      }).catch((error: unknown) => {
        throw error instanceof NotPlainError ? escapeError() : error;
      });
      // A task that has not written anything yet has an empty log. A task that has not begun has none, although its
      // files may exist already (API-198, AG-240).
      const now = this.stateOf(AllocID, Task) ?? state;
      if (!chunk?.data.length && now.StartedAt === null)
        throw new RpcError('not-found', `task "${Task}" not started yet. No logs available`);
      if (!chunk) return { Data: '', NextOffset: 0, File: '', Available: 0 };
      return {
        Data: chunk.data.toString('base64'),
        NextOffset: chunk.nextOffset,
        File: chunk.file,
        Available: chunk.available,
      };
    } finally {
      this.reading--;
    }
  }
}
