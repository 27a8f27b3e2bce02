import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import { CORE_TYPE, defaultSchedulerConfiguration, type HostNetwork, parseDuration } from '@waybill/model';
import { KNOWN_SCHEDULERS } from '@waybill/rpc';
import { z } from 'zod';

const MAX_PORT = 65_535;
export const port = z.coerce.number().int().min(0).max(MAX_PORT);
export const positive = z.coerce.number().int().min(1);
export const hours = z.coerce.number().positive();
/** An age or a period in nanoseconds, written as `4h`, `90m`, `1h30m`. */
export const duration = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text, ctx) => {
      const ns = parseDuration(text);
      if (ns !== undefined && ns >= 0) return ns;
      ctx.addIssue({ code: 'custom', message: 'a duration such as "4h" or "1h30m", not below 0' });
      return z.NEVER;
    });
/** An interval, which must be greater than 0 (GC-127). @param name name of the setting in the message */
export const interval = (fallback: string, name: string) =>
  z
    .string()
    .default(fallback)
    .transform((text, ctx) => {
      const ns = parseDuration(text);
      if (ns !== undefined && ns > 0) return ns;
      const message =
        ns === undefined ? `failed to parse ${name}: invalid duration` : `${name} should be greater than 0s`;
      ctx.addIssue({ code: 'custom', message });
      return z.NEVER;
    });
/** Empty if it is not set. */
export const hostAndPort = z
  .string()
  .regex(/^$|^[^/\s]+:\d{1,5}$/, 'host:port')
  .refine((text) => text === '' || Number(text.slice(text.lastIndexOf(':') + 1)) <= MAX_PORT, 'host:port')
  .default('');
const commaSeparated = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** Names of a server, without ports. `.example.com` is every name below it, `*` every name. */
export const hostNames = z.string().transform((text, ctx) => {
  const names = commaSeparated(text);
  for (const name of names)
    if (!/^(\*|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)$/.test(name))
      ctx.addIssue({ code: 'custom', message: `names with commas between, without ports; "${name}" is none` });
  return names;
});

/** Globs of host names and addresses in lower case. `*` is any run of characters. */
export const hostGlobs = z.string().transform((text, ctx) => {
  const globs = commaSeparated(text.toLowerCase());
  for (const glob of globs)
    if (!/^[a-z0-9_.*:[\]-]+$/.test(glob))
      ctx.addIssue({ code: 'custom', message: `hosts with commas between, "*" for any text; "${glob}" is none` });
  return globs;
});

/** Origins of web pages in the form that browsers send. */
export const origins = z.string().transform((text, ctx) => {
  const found = commaSeparated(text);
  for (const origin of found)
    if (!/^https?:/.test(origin) || !URL.canParse(origin) || new URL(origin).origin !== origin)
      ctx.addIssue({
        code: 'custom',
        message: `origins such as https://ui.example.com with commas; "${origin}" is none`,
      });
  return found;
});

export const flag = z.enum(['true', 'false']).transform((v) => v === 'true');
export const word = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, 'letters, digits, "-", "_" and "." only');

/** URL of PostgreSQL. Its parameters are PostgreSQL's own (`?host=/run/postgresql`). */
export const databaseUrl = z
  .string()
  .refine((text) => /^postgres(ql)?:\/\//.test(text), 'a URL that starts with postgres:// or postgresql://')
  .refine(
    isReadableUrl,
    'no URL: of user and password write what is no letter or digit as %40, say, and the port as a number',
  );

function isReadableUrl(text: string): boolean {
  try {
    const { username, password, pathname } = new URL(text);
    [username, password, pathname].forEach(decodeURIComponent);
    return true;
  } catch {
    return false;
  }
}

/** One or more URLs, separated by commas. The first one determines the protocol. */
export const natsUrls = z
  .string()
  .refine((text) => /^(nats|tls):\/\//.test(text), 'a URL that starts with nats:// or tls://')
  .refine((text) => text.split(',').every(isNatsServer), 'each of them nats://host:port or tls://host:port');

function isNatsServer(text: string): boolean {
  const [, host = text.trim()] = /^(?:nats|tls):\/\/(.*)$/.exec(text.trim()) ?? [];
  return !host.includes('://') && URL.canParse(`http://${host}`);
}

export const keyValues = z.string().transform((text, ctx) => {
  const pairs: Record<string, string> = {};
  for (const part of text.split(',').filter((p) => p !== '')) {
    const at = part.indexOf('=');
    if (at < 1) ctx.addIssue({ code: 'custom', message: `key=value pairs with commas between; "${part}" is none` });
    else pairs[part.slice(0, at)] = part.slice(at + 1);
  }
  return pairs;
});

/** Headers of HTTP responses. */
export const headers = keyValues.transform((values, ctx) => {
  for (const [name, value] of Object.entries(values))
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      ctx.addIssue({
        code: 'custom',
        message: `"${name}" is no name of a header, or its value has characters it may not`,
      });
    }
  return values;
});

/** Numbers and ranges, such as `0,1000-1999`. Returns first and last of each. */
export const ranges = (what: string, max: number) =>
  z
    .string()
    .regex(/^$|^\d+(-\d+)?(,\d+(-\d+)?)*$/, what)
    .transform((text) => text.split(',').filter((part) => part !== ''))
    .transform((parts, ctx) =>
      parts.map((part): [number, number] => {
        const [from = '', to = from] = part.split('-');
        if (Number(from) > Number(to) || Number(to) > max)
          ctx.addIssue({ code: 'custom', message: `${what}, up to ${max}; "${part}" is none` });
        return [Number(from), Number(to)];
      }),
    );
export const ports = ranges('ports and ranges with commas between, such as 22,8000-8100', MAX_PORT);

/** `+prefix` and `-prefix`, separated by commas (OP-105). */
export const filterRules = z.string().transform((text, ctx) =>
  text
    .split(',')
    .filter((rule) => rule !== '')
    .map((rule) => {
      if (!/^[+-]./.test(rule))
        ctx.addIssue({ code: 'custom', message: `Filter rule must begin with either '+' or '-': "${rule}"` });
      return { prefix: rule.slice(1), admits: rule.startsWith('+') };
    }),
);

/** Types of evaluations, separated by commas. If empty, nothing is scheduled here (EB-228). */
export const schedulers = z.string().transform((text, ctx) => {
  const types = text.split(',').filter((type) => type !== '');
  const unknown = types.find((type) => !KNOWN_SCHEDULERS.includes(type));
  if (unknown !== undefined)
    ctx.addIssue({
      code: 'custom',
      message: `invalid configuration: unknown scheduler "${unknown}" in enabled schedulers`,
    });
  else if (types.length > 0 && !types.includes(CORE_TYPE))
    ctx.addIssue({ code: 'custom', message: `invalid configuration: "${CORE_TYPE}" scheduler not enabled` });
  return types;
});

export const peers = keyValues.transform((urls, ctx) => {
  for (const [region, peer] of Object.entries(urls)) {
    if (!word.safeParse(region).success)
      ctx.addIssue({ code: 'custom', message: `"${region}" is no name of a region` });
    const [address = ''] = peer.split('#');
    if (!natsUrls.safeParse(address).success)
      ctx.addIssue({ code: 'custom', message: `"${region}" needs a URL such as nats://host:port or tls://host:port` });
  }
  return urls;
});

/** A directory of a machine that jobs may mount (VL-279). */
export interface ConfiguredHostVolume {
  readonly path: string;
  readonly readOnly: boolean;
}

const READ_ONLY = ':ro';
export const hostVolumes = keyValues.transform((paths, ctx) => {
  const volumes: Record<string, ConfiguredHostVolume> = {};
  for (const [name, given] of Object.entries(paths)) {
    const readOnly = given.endsWith(READ_ONLY);
    const path = readOnly ? given.slice(0, -READ_ONLY.length) : given;
    if (!path.startsWith('/')) ctx.addIssue({ code: 'custom', message: `"${name}" needs an absolute path` });
    volumes[name] = { path, readOnly };
  }
  return volumes;
});

/** JSON. @param example is in the message about a text that is none */
function jsonText(example: string) {
  return z.string().transform((text, ctx): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      ctx.addIssue({ code: 'custom', message: `a JSON object such as ${example}` });
      return z.NEVER;
    }
  });
}

/** The `plugin` blocks of the agent's configuration, as JSON by the name of the plugin's file (PG-21). */
export const pluginBlocks = jsonText('{"podman":{"args":[],"config":{}}}').pipe(
  z.record(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'the name of a file'),
    z.strictObject({
      args: z.array(z.string()).optional(),
      config: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
);

const HOST_NETWORK_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const MAX_HOST_NETWORKS = 64;

/** Says why a text is no list of networks in CIDR notation, or returns undefined for a list. */
function whyNoRanges(text: string): string | undefined {
  for (const part of text.split(',')) {
    const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(part.trim()) ?? [];
    const family = isIP(address);
    if (family === 0 || Number(bits) > (family === 4 ? 32 : 128))
      return `"${part.trim()}" is no address with "/" and bits`;
  }
  return undefined;
}

/**
 * The `host_network` blocks of the agent's configuration, as JSON by name (NW-73). The result has the form that a node
 * shows.
 */
export const hostNetworks = jsonText('{"public":{"cidr":"203.0.113.0/24"}}')
  .pipe(
    z.record(
      z.string(),
      z.strictObject({
        cidr: z.string().default(''),
        interface: z.string().default(''),
        reserved_ports: z.string().default(''),
      }),
    ),
  )
  .transform((blocks, ctx) => {
    const networks: Record<string, HostNetwork> = {};
    const refuse = (message: string): void => ctx.addIssue({ code: 'custom', message });
    if (Object.keys(blocks).length > MAX_HOST_NETWORKS) refuse(`at most ${MAX_HOST_NETWORKS} host networks`);
    for (const [name, { cidr, interface: device, reserved_ports: reserved }] of Object.entries(blocks)) {
      if (!HOST_NETWORK_NAME.test(name)) refuse(`"${name}": up to 64 letters, digits, "-" and "_"`);
      const wrongRange = cidr === '' ? undefined : whyNoRanges(cidr);
      if (wrongRange !== undefined) refuse(`host_network["${name}"].cidr "${cidr}" invalid: ${wrongRange}`);
      if (!ports.safeParse(reserved).success)
        refuse(`host_network["${name}"].reserved_ports "${reserved}" invalid: ports and ranges such as 22,8000-8100`);
      networks[name] = { Name: name, CIDR: cidr, Interface: device, ReservedPorts: reserved };
    }
    return networks;
  });

const schedulerConfigurationForm = z
  .strictObject({
    SchedulerAlgorithm: z.enum(['binpack', 'spread']),
    PreemptionConfig: z
      .strictObject({
        SystemSchedulerEnabled: z.boolean(),
        SysBatchSchedulerEnabled: z.boolean(),
        BatchSchedulerEnabled: z.boolean(),
        ServiceSchedulerEnabled: z.boolean(),
      })
      .partial(),
    MemoryOversubscriptionEnabled: z.boolean(),
    RejectJobRegistration: z.boolean(),
    PauseEvalBroker: z.boolean(),
    NodeLimitForFeasibilityChecks: z.int().min(0),
  })
  .partial();

/** A scheduler configuration as JSON, with the names of the API (OP-2). Missing members have their defaults. */
export const schedulerConfiguration = jsonText('{"PauseEvalBroker":true}')
  .pipe(schedulerConfigurationForm)
  .transform(({ PreemptionConfig, ...given }) => {
    const defaults = defaultSchedulerConfiguration();
    return { ...defaults, ...given, PreemptionConfig: { ...defaults.PreemptionConfig, ...PreemptionConfig } };
  });
