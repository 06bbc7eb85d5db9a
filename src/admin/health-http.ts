import type { FastifyInstance } from 'fastify';

/** `reasons` says in words what keeps the process from being ready; empty when it is. */
export type Health = { readonly alive: true; readonly ready: boolean; readonly reasons: readonly string[] };
export type HealthCheck = () => Promise<Health>;

/**
 * `/healthz`: the process answers. `/readyz`: it can do its work; 503 if not. The reasons may name files and hosts, so
 * only operators see them.
 */
export function healthRoutes(
  app: FastifyInstance,
  check: HealthCheck,
  { withReasons }: { withReasons: boolean },
): void {
  app.get('/healthz', async () => ({ alive: true }));
  app.get('/readyz', async (_request, reply) => {
    const { ready, reasons } = await check();
    return reply.code(ready ? 200 : 503).send(withReasons ? { ready, reasons } : { ready });
  });
}
