import type { Flag } from './flag.js';

/** Flags of every command that talks to a server (cli.md 1.1). */
export const GLOBAL_FLAGS: readonly Flag[] = [
  {
    name: 'address',
    kind: 'text',
    value: 'url',
    help: 'Address of the server: http://, https:// or unix://<path>. WAYBILL_ADDR or NOMAD_ADDR; default http://127.0.0.1:4646.',
  },
  { name: 'region', kind: 'text', value: 'region', help: 'Region of the request. WAYBILL_REGION or NOMAD_REGION.' },
  {
    name: 'namespace',
    kind: 'text',
    value: 'name',
    help: 'Namespace. In lists and lookups, "*" stands for all readable ones. WAYBILL_NAMESPACE or NOMAD_NAMESPACE.',
  },
  { name: 'token', kind: 'text', value: 'secret', help: 'Access token. WAYBILL_TOKEN or NOMAD_TOKEN.' },
  {
    name: 'no-color',
    kind: 'switch',
    help: 'Never colour the output. WAYBILL_CLI_NO_COLOR, NOMAD_CLI_NO_COLOR or NO_COLOR.',
  },
  {
    name: 'force-color',
    kind: 'switch',
    help: 'Colour the output even if stdout is no terminal. WAYBILL_CLI_FORCE_COLOR or NOMAD_CLI_FORCE_COLOR.',
  },
  {
    name: 'ca-cert',
    kind: 'text',
    value: 'file',
    help: 'PEM file of trusted authorities. WAYBILL_CACERT or NOMAD_CACERT.',
  },
  { name: 'ca-path', kind: 'text', value: 'dir', help: 'Directory of such files. WAYBILL_CAPATH or NOMAD_CAPATH.' },
  {
    name: 'client-cert',
    kind: 'text',
    value: 'file',
    help: 'Client certificate. WAYBILL_CLIENT_CERT or NOMAD_CLIENT_CERT.',
  },
  {
    name: 'client-key',
    kind: 'text',
    value: 'file',
    help: 'Private key of the client certificate. WAYBILL_CLIENT_KEY or NOMAD_CLIENT_KEY.',
  },
  {
    name: 'tls-server-name',
    kind: 'text',
    value: 'name',
    help: "Name in the server's certificate. WAYBILL_TLS_SERVER_NAME or NOMAD_TLS_SERVER_NAME.",
  },
  {
    name: 'tls-skip-verify',
    kind: 'switch',
    help: 'Do not verify the server. WAYBILL_SKIP_VERIFY or NOMAD_SKIP_VERIFY.',
  },
  { name: 'insecure', kind: 'switch', help: 'The same as -tls-skip-verify.' },
  {
    name: 'reason',
    kind: 'text',
    value: 'text',
    help: 'Reason for the change, stored with the transaction (at most 256 characters). WAYBILL_REASON.',
  },
];
