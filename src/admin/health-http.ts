import type { FastifyInstance } from 'fastify';

/** `reasons` says in words what keeps the process from being ready; empty when it is. */
export type Health = { readonly alive: true; readonly ready: boolean; readonly reasons: readonly string[] };
export type HealthCheck = () => Promise<Health>;

/** `/healthz`: the process answers. `/readyz`: it can do its work; 503 with the reasons if not. */
export function healthRoutes(app: FastifyInstance, check: HealthCheck): void {
  app.get('/healthz', async () => ({ alive: true }));
  app.get('/readyz', async (_request, reply) => {
    const health = await check();
    return reply.code(health.ready ? 200 : 503).send({ ready: health.ready, reasons: health.reasons });
  });
}
