import { z } from 'zod';

/**
 * Most characters of a proof. nats-server reads at most 4096 bytes of a client's first message, which has the key and the
 * signature of the client beside the proof.
 */
export const MAX_MACHINE_PROOF = 3_072;

const NODE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const PROOF = z.object({
  node: z.string().regex(NODE_ID),
  secret: z.string().min(1).max(64),
  name: z.string().max(256),
  pool: z.string().max(128),
  introduction: z.string().min(1).optional(),
});

/**
 * MachineProof is the text by which a machine proves itself when it connects to NATS (AU-264). The servers compare the
 * secret with that of the node, if they know it. Otherwise the introduction decides: an introduction token, the token of a
 * Kubernetes service account, or the signed identity of a node that was collected.
 */
export type MachineProof = Readonly<z.output<typeof PROOF>>;

/** A proof is too long for nats-server. The message does not contain it. */
export class MachineProofError extends Error {
  override readonly name = 'MachineProofError';
}

/** @throws MachineProofError */
export function encodeMachineProof(proof: MachineProof): string {
  const text = JSON.stringify(proof);
  // The client sends it as a text within JSON.
  const length = Buffer.byteLength(JSON.stringify(text));
  if (length <= MAX_MACHINE_PROOF) return text;
  throw new MachineProofError(
    `the proof of this machine for NATS has ${length} bytes, and at most ${MAX_MACHINE_PROOF} are possible: use a shorter introduction token`,
  );
}

/** Returns undefined for a text that is no proof. */
export function decodeMachineProof(text: string): MachineProof | undefined {
  if (text.length > MAX_MACHINE_PROOF) return undefined;
  try {
    return PROOF.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
