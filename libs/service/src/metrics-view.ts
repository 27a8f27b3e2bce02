import { hostname } from 'node:os';
import { msFromNs } from '@waybill/model';
import { type Labels, MetricFilter, MetricsView, type Shown } from '@waybill/telemetry';
import type { ServiceContext } from './definition.js';
import type { Settings } from './settings.js';
import { StatsdSender } from './statsd.transport.js';

/** Returns the name of this machine in metrics. */
export const metricsHost = (settings: Settings): string =>
  settings.WAYBILL_METRICS_USE_NODE_NAME ? settings.WAYBILL_NODE_NAME : hostname();

/** Returns the label that distinguishes hosts, unless it is disabled (OP-103). */
export const hostLabels = (settings: Settings, host = metricsHost(settings)): Labels =>
  settings.WAYBILL_METRICS_DISABLE_HOSTNAME ? {} : { host };

/** Returns a view of metrics that are read on request, as the settings define it (OP-105). */
export function metricsView({ settings, clock }: ServiceContext, read: () => Promise<Shown>): MetricsView {
  return new MetricsView(read, {
    clock,
    intervalMs: msFromNs(settings.WAYBILL_METRICS_IN_MEMORY_INTERVAL),
    filter: new MetricFilter(settings.WAYBILL_METRICS_PREFIX_FILTER, settings.WAYBILL_METRICS_FILTER_DEFAULT),
    offersText: settings.WAYBILL_PROMETHEUS_METRICS,
  });
}

/** Sends these metrics to statsd if a server is configured (OP-105). */
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
