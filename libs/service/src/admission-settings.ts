import { NS_PER_MINUTE } from '@waybill/model';
import { z } from 'zod';
import { flag, interval } from './setting-forms.js';

/**
 * Shortest time until a machine has to prove itself again. Its calls in progress fail then, and every machine asks the
 * services once in that time.
 */
const MIN_ADMISSION_TTL_NS = 10 * NS_PER_MINUTE;

/** Settings of the admission of machines to NATS by the `nodes` services (AU-264). */
export const ADMISSION_SETTINGS = {
  WAYBILL_NATS_ISSUER_FILE: z
    .string()
    .default('')
    .describe(
      'nodes: file with the seed by which they admit machines to NATS, the same file for each of them; empty: none',
    ),
  WAYBILL_NATS_ADMISSION_TTL: interval('24h', 'WAYBILL_NATS_ADMISSION_TTL')
    .refine((ns) => ns >= MIN_ADMISSION_TTL_NS, 'WAYBILL_NATS_ADMISSION_TTL should be at least 10m')
    .describe('nodes: longest time until an admitted machine has to prove itself to NATS again, at least 10m'),
  WAYBILL_KUBERNETES_AGENTS: z
    .string()
    .regex(/^$|^[a-z0-9.-]{1,63}\/[a-z0-9.-]{1,253}$/, 'namespace/name, such as waybill-agents/waybill-agent')
    .default('')
    .describe(
      'nodes: namespace/name of the service account whose tokens introduce machines, by a TokenReview; empty: none',
    ),
  WAYBILL_KUBERNETES_URL: z
    .url({ protocol: /^https$/ })
    .default('https://kubernetes.default.svc')
    .describe('nodes: Kubernetes API server that reviews these tokens'),
  WAYBILL_KUBERNETES_ACCOUNT_DIR: z
    .string()
    .default('/var/run/secrets/kubernetes.io/serviceaccount')
    .describe('nodes: directory with the token and the ca.crt for requests to this server'),
  WAYBILL_NATS_PROOF: flag
    .default(false)
    .describe('agent: prove this machine whenever it connects to NATS, where the nodes services admit machines'),
  WAYBILL_CLIENT_INTRO_TOKEN_FILE: z
    .string()
    .default('')
    .describe(
      'agent: file with a token that introduces this machine, such as that of a Kubernetes service account; read for each attempt',
    ),
} as const;
