/** A plain client of the HTTP API, as a user's script would be. */
export class ApiClient {
  constructor(readonly url: string) {}

  async get<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.url}${path}`);
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  raw(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, init);
  }

  async register(job: unknown): Promise<{ EvalID: string; JobModifyIndex: number; Index: number }> {
    const answer = await fetch(`${this.url}/v1/jobs`, { method: 'PUT', body: JSON.stringify({ Job: job }) });
    if (!answer.ok) throw new Error(`register: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { EvalID: string; JobModifyIndex: number; Index: number };
  }

  async stop(id: string, purge = false): Promise<{ EvalID: string }> {
    const answer = await fetch(`${this.url}/v1/job/${encodeURIComponent(id)}?purge=${purge}`, { method: 'DELETE' });
    if (!answer.ok) throw new Error(`stop: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { EvalID: string };
  }
}

/** A job whose one task runs a shell line. */
export function shellJob(
  id: string,
  line: string,
  extra: { count?: number; type?: string; restart?: object; killTimeoutNs?: number } = {},
): object {
  return {
    ID: id,
    Type: extra.type ?? 'service',
    Datacenters: ['*'],
    TaskGroups: [
      {
        Name: 'group',
        Count: extra.count ?? 1,
        ...(extra.restart && { RestartPolicy: extra.restart }),
        EphemeralDisk: { SizeMB: 110 }, // little more than its logs may take: many fit on a disk that is almost full
        Tasks: [
          {
            Name: 'task',
            Driver: 'raw_exec',
            Config: { command: '/bin/sh', args: ['-c', line] },
            Resources: { CPU: 20, MemoryMB: 16 },
            KillTimeout: extra.killTimeoutNs ?? 2_000_000_000,
          },
        ],
      },
    ],
  };
}
