import type { Answer, ApiClient } from '../server/api-client.js';

/** What the server at the address says of itself (API-236), as far as this program reads it. */
export interface AgentSelf {
  readonly config?: {
    readonly UI?: { readonly ShowCLIHints?: boolean | null } | null;
    readonly Waybill?: { readonly TraceURL?: string };
  };
  readonly stats?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** @throws AnswerFailure, ConnectionFailure */
export const readAgentSelf = (api: ApiClient): Promise<Answer<AgentSelf>> => api.get<AgentSelf>('/v1/agent/self');
