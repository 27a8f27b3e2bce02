import { filterRules, flag, hostAndPort, interval } from './setting-forms.js';

/** Settings of the metrics under the contract's names (OP-105). Times are in nanoseconds. */
export const METRICS_SETTINGS = {
  WAYBILL_PROMETHEUS_METRICS: flag.default(true).describe('api, agent: serve /v1/metrics?format=prometheus'),
  WAYBILL_PUBLISH_NODE_METRICS: flag
    .default(true)
    .describe('agent: metrics of what the machine uses, client.host.… and client.uptime'),
  WAYBILL_PUBLISH_ALLOCATION_METRICS: flag
    .default(false)
    .describe('agent: metrics of what each of its tasks uses, client.allocs.…'),
  WAYBILL_METRICS_COLLECTION_INTERVAL: interval('1s', 'collection_interval').describe(
    'agent: machine and tasks are looked at when somebody asks, and not again within this time',
  ),
  WAYBILL_METRICS_IN_MEMORY_INTERVAL: interval('10s', 'in_memory_collection_interval').describe(
    'api, agent: shortest time that counters and samples of /v1/metrics in JSON cover',
  ),
  WAYBILL_METRICS_DISABLE_HOSTNAME: flag.default(false).describe('api, agent: metrics without the label host'),
  WAYBILL_METRICS_USE_NODE_NAME: flag
    .default(false)
    .describe('the label host of metrics is WAYBILL_NODE_NAME, not what the machine calls itself'),
  WAYBILL_METRICS_PREFIX_FILTER: filterRules
    .default([])
    .describe(
      'api, agent: +prefix,-prefix,… of metrics that are shown or not, such as +nomad.client.host,-nomad.client',
    ),
  WAYBILL_METRICS_FILTER_DEFAULT: flag.default(true).describe('api, agent: whether the others are shown'),
  WAYBILL_METRICS_STATSD_ADDRESS: hostAndPort.describe(
    'api, agent: host:port of a statsd server that gets metrics once per in-memory interval; empty: none',
  ),
  WAYBILL_METRICS_DISABLE_DISPATCHED_JOB_SUMMARY: flag
    .default(false)
    .describe('api: no metrics of each job that was dispatched'),
} as const;
