export { createLogger, humanLine, LOG_LEVELS, REDACTED_KEYS, silentLogger } from './logger.js';
export type { Logger, LoggerOptions, LogLevel } from './logger.js';
export { quantile } from './figures.js';
export type { Distribution, Figure, Figures, Labels } from './figures.js';
export { Metrics } from './metrics.js';
export type { GaugeOptions } from './metrics.js';
export { SpanKind, spanFrom, startTracing, traceparentOf, tracerFor, withSpan } from './tracing.js';
export type { Attributes, Span, SpanOptions, Tracer, Tracing, TracingOptions } from './tracing.js';
export type { Gauge } from 'prom-client';
