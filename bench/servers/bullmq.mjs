/**
 * What people would build instead: Fastify that verifies the signature and parses the body (400 for what is no JSON, the
 * event type out of the payload, as the gateway does), and BullMQ on a Redis that flushes every write
 * (`appendfsync always`), so that a 200 means the same. Redis's port comes over IPC; the port goes back the same way.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Queue } from 'bullmq';
import Fastify from 'fastify';

process.once('message', async ({ redisPort }) => {
  const secret = process.env.BENCH_SECRET;
  const queue = new Queue('webhooks', { connection: { host: '127.0.0.1', port: redisPort } });
  const app = Fastify();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  app.post('/api/v1/webhooks/github', async (request, reply) => {
    const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`);
    const claimed = Buffer.from(String(request.headers['x-hub-signature-256']));
    if (claimed.length !== expected.length || !timingSafeEqual(claimed, expected))
      return reply.code(401).send();
    let payload;
    try {
      payload = JSON.parse(request.body.toString('utf8'));
    } catch {
      return reply.code(400).send();
    }
    const type = [request.headers['x-github-event'], payload.action].filter(Boolean).join('.');
    const job = { headers: request.headers, payload };
    await queue.add(type, job, { jobId: request.headers['x-github-delivery'] });
    return reply.code(200).send();
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  process.send({ port: app.server.address().port });
});
process.on('disconnect', () => process.exit(0));
