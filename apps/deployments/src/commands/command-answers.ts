import { WriteRejectedError } from '@waybill/lease';
import { RpcError } from '@waybill/rpc';
import { CommandRefusedError } from './deployment-commands.js';
import { NotEnabledError } from './not-enabled-error.js';
import { UnknownJobError } from '../watching/rolled-out-job.js';

/** How a command's failure looks to the asker: the one place that decides it. @throws RpcError */
export async function answered<T>(command: () => Promise<T> | T): Promise<T> {
  try {
    return await command();
  } catch (error) {
    if (error instanceof NotEnabledError) throw new RpcError('unavailable', error.message);
    if (error instanceof CommandRefusedError || error instanceof WriteRejectedError || error instanceof UnknownJobError)
      throw new RpcError('conflict', error.message);
    throw error;
  }
}
