/**
 * Admin: what operators and their machines ask. So far health and metrics. The public listener has
 * `/healthz` and `/readyz` too, without reasons.
 *
 * Not here yet: the API over the journal, tokens, the web UI.
 */
export { type Health, type HealthCheck, healthRoutes } from './health-http.ts';
export { metricsRoute } from './metrics-http.ts';
