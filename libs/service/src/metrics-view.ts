import { hostname } from 'node:os';
import { msFromNs } from '@waybill/model';
import { type Labels, MetricFilter, MetricsView, type Shown } from '@waybill/telemetry';
import type { ServiceContext } from './definition.js';
import type { Settings } from './settings.js';
import { StatsdSender } from './statsd.transport.js';

/** What metrics call the machine of this process. */
export const metricsHost = (settings: Settings): string =>
  settings.WAYBILL_METRICS_USE_NODE_NAME ? settings.WAYBILL_NODE_NAME : hostname();

/** The label that tells hosts apart, unless nobody wants it (OP-103). */
export const hostLabels = (settings: Settings, host = metricsHost(settings)): Labels =>
  settings.WAYBILL_METRICS_DISABLE_HOSTNAME ? {} : { host };

/** What clients see of metrics that are read when they look, as the settings want it (OP-105). */
export function metricsView({ settings, clock }: ServiceContext, read: () => Promise<Shown>): MetricsView {
  return new MetricsView(read, {
    clock,
    intervalMs: msFromNs(settings.WAYBILL_METRICS_IN_MEMORY_INTERVAL),
    filter: new MetricFilter(settings.WAYBILL_METRICS_PREFIX_FILTER, settings.WAYBILL_METRICS_FILTER_DEFAULT),
    offersText: settings.WAYBILL_PROMETHEUS_METRICS,
  });
}

/** Sends the same to statsd, if a server for it is named (OP-105). */
export function statsdSender(context: ServiceContext, read: () => Promise<Shown>): StatsdSender {
  const { settings, timers, logger } = context;
  const view = metricsView(context, read);
  return new StatsdSender({
    address: settings.WAYBILL_METRICS_STATSD_ADDRESS,
    intervalMs: msFromNs(settings.WAYBILL_METRICS_IN_MEMORY_INTERVAL),
    lately: async () => (await view.lately()).shown,
    timers,
    logger,
  });
}
