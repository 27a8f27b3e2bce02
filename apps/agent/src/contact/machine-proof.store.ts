import { readFileSync } from 'node:fs';
import { encodeMachineProof } from '@waybill/rpc';
import { isErrno } from '@waybill/processes';
import type { Settings } from '@waybill/service';
import { below, ownDirectory } from '../paths/path-name.js';
import { INTRODUCTION_VARIABLES } from './introduction.store.js';

/**
 * Returns the function that proves this machine to NATS (AU-264); undefined without WAYBILL_NATS_PROOF. The function reads
 * its files anew for each attempt to connect, because Kubernetes replaces a token and a person may bring one. It reads
 * them synchronously, because the client needs the text at once. The introduction is a token, or the signed identity of
 * this machine, which introduces a node that was collected.
 */
export function machineProofOf(
  settings: Settings,
  env: Readonly<Record<string, string | undefined>>,
): (() => string) | undefined {
  if (!settings.WAYBILL_NATS_PROOF) return undefined;
  const dir = ownDirectory(settings.WAYBILL_AGENT_DIR);
  return () => {
    const introduction = introductionOf(settings, env, dir);
    return encodeMachineProof({
      node: contentOf(below(dir, 'client-id')) ?? '',
      secret: contentOf(below(dir, 'secret-id')) ?? '',
      name: settings.WAYBILL_NODE_NAME,
      pool: settings.WAYBILL_NODE_POOL,
      ...(introduction !== undefined && { introduction }),
    });
  };
}

function introductionOf(
  { WAYBILL_CLIENT_INTRO_TOKEN_FILE: file }: Settings,
  env: Readonly<Record<string, string | undefined>>,
  dir: string,
): string | undefined {
  for (const name of INTRODUCTION_VARIABLES) {
    const given = env[name]?.trim();
    if (given) return given;
  }
  const inFile = file === '' ? undefined : contentOf(file);
  return inFile ?? contentOf(below(dir, 'intro_token.jwt')) ?? contentOf(below(dir, 'node-identity.jwt'));
}

/** Returns undefined if there is no such file, or nothing in it. */
function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
