import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';

/** The query meta inside answers to writes. Clients ignore it. */
export const QUERY_META = { LastContact: 0, KnownLeader: true, NextToken: '' } as const;

/** Sends the answer to a write of a job, with the index of the write in the header and query meta in the body. */
export function sendWritten(request: ApiRequest, reply: ApiReply, answer: { readonly Index: number }): void {
  setWriteIndex(reply, answer.Index);
  sendJson(request, reply, { ...answer, ...QUERY_META });
}
