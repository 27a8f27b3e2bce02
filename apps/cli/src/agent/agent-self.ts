import type { Answer, ApiClient } from '../server/api-client.js';

/** The members of the server's own description that this program reads (API-236). */
export interface AgentSelf {
  readonly config?: {
    readonly UI?: { readonly ShowCLIHints?: boolean | null } | null;
    readonly Waybill?: { readonly TraceURL?: string };
  };
  readonly stats?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** @throws AnswerFailure, ConnectionFailure */
export const readAgentSelf = (api: ApiClient): Promise<Answer<AgentSelf>> => api.get<AgentSelf>('/v1/agent/self');
