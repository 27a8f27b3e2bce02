import { z } from 'zod';

/** Most characters of a token of a machine. It is longer than any that a server makes. */
export const MAX_MACHINE_TOKEN = 8_192;

/** The credential of a machine in its calls: its secret or its signed identity (AU-191). */
export const machineCredential = z.string().max(MAX_MACHINE_TOKEN);
