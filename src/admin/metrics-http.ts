import type { FastifyInstance } from 'fastify';

/** `/metrics` in the text format of Prometheus, of this process and its worker. */
export function metricsRoute(app: FastifyInstance, read: () => Promise<string>): void {
  app.get('/metrics', async (_request, reply) =>
    reply.header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8').send(await read()),
  );
}
