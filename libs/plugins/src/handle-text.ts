import type { TaskHandleMessage } from './messages.js';
import { pluginMessage } from './schema.js';

/** Encodes a handle as text, for the disk (PG-59). */
export const handleText = (handle: TaskHandleMessage): string =>
  Buffer.from(pluginMessage('handle').serialize(handle)).toString('base64');

/** @throws Error if the text is no handle */
export const handleMessage = (text: string): TaskHandleMessage =>
  pluginMessage('handle').deserialize(Buffer.from(text, 'base64')) as TaskHandleMessage; // the schema says so
