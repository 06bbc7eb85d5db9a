/**
 * What happens with each webhook. A handler runs in the worker, after the webhook has been stored and answered. If it
 * throws, it is called again later; with `tx` its writes and the mark that it is done are one commit.
 */
export default (on) => {
  on('github', 'push', async (event, { log }) => {
    const push = await event.json();
    log.info(`push to ${push.repository?.full_name ?? 'a repository'} (event ${event.eventId})`);
  });

  on('github', 'pull_request.*', async (event, { log }) => {
    const { action, pull_request: pull } = await event.json();
    log.info(`pull request ${action}: ${pull?.title ?? 'no title'} (event ${event.eventId})`);
  });

  on('demo', '*', async (event, { log }) => {
    log.info(`demo event ${event.eventType ?? 'without a type'} (event ${event.eventId})`);
  });
};
