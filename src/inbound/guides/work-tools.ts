import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Boards, issues, notes and alarms of teams. */
export const workToolGuides: Readonly<Record<string, Guide>> = {
  linear: {
    steps: [
      'In Linear go to **Settings**, **API**, **New webhook**.',
      'Type a label and paste `{url}` into **URL**.',
      'Choose the team, or all public teams, and the resource types.',
      'Click **Create webhook** and copy the **Signing secret** from the page of the webhook.',
    ],
    secret: 'The **Signing secret** of the webhook, as it stands. Linear makes it; each webhook has its own.',
    retries: 'After 1 minute, 1 h and 6 h.',
    ifDown:
      'Nothing is lost within about 7 h. After that query the GraphQL API for what has changed (`updatedAt` of issues, comments, projects), and look whether the webhook is still enabled.',
    notes: [
      'The time in the body, `webhookTimestamp`, is signed; the one in a header is not and counts for nothing.',
      'Linear advises 60 s for that time. Posthorn allows 300 s, as late tries may carry the time of the first.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the three times, and the 5 s for an answer. If it is less, get what is missing as described above.",
      "Not checked against the provider's documents: whether each try gets a new time. If tries after 1 h and 6 h are refused as too old, set `toleranceSeconds: 28800`.",
      uncheckedLabels,
    ],
  },
  jira: {
    steps: [
      'As an administrator open the cog, **System**, **WebHooks**, **Create a WebHook**.',
      'Type a **Name**, leave the status **Enabled**, and paste `{url}` into **URL**.',
      'Type or generate the **Secret**.',
      'Choose the events, narrow them with JQL if you like, and click **Create**.',
    ],
    secret:
      'The text in **Secret**: make it yourself, for example with `openssl rand -hex 32`. Jira does not show it again.',
    retries: 'Up to five further tries; `X-Atlassian-Webhook-Retry` counts them.',
    ifDown:
      'An outage that is longer than the tries loses events. Search with JQL for what has changed (`updated >= "2026/01/31 10:00"`) and read it by API.',
    notes: [
      'Webhooks of Connect and Forge apps are signed otherwise (with a JWT): this scheme is for those of the administration.',
      'Jira sends some events within 30 s and others within 15 minutes (`X-Atlassian-Webhook-Flow`), so their order is not that of the changes.',
      'Only SHA-256 is taken in `X-Hub-Signature`.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the five tries. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
  asana: {
    steps: [
      'Start Posthorn with the source, without `secretFile`: Asana hands over its secret while the webhook is made.',
      'Call `POST /webhooks` of the API with `resource` (such as the id of a project) and `target` set to `{url}`.',
      'Look at the answer: `active` must be true.',
      'Give each webhook a source of its own, as each has a secret of its own.',
    ],
    secret:
      'None to paste: Asana sends the secret in `X-Hook-Secret` during the call. Posthorn returns it, stores it encrypted, and takes it from then on as the key of the source.',
    retries: 'At growing intervals; after 24 h of failures Asana deletes the webhook.',
    ifDown:
      'Nothing is lost for some hours. If the webhook was deleted, make it again and read the changes of that time by API (`GET /events` with the sync token, or `modified_since` of tasks).',
    notes: [
      'The secret is taken once, so that nobody can replace it. To make the webhook anew, use a new source.',
      'An empty list of events every 8 h is a sign of life; it runs no handler.',
      'One request holds many events, which name what has changed and not its content.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that the signature is hexadecimal, and the 10 s for an answer. If every event is refused although the webhook was made, report it.",
    ],
  },
  trello: {
    steps: [
      'Open the administration of your Power-Up, **API key**, and copy the key and the **Secret**; put the secret into its file.',
      'Set `publicUrl` of the source to `{url}` and start Posthorn: Trello checks the URL while the webhook is made.',
      'Get a token for the account that may see the board.',
      'Call `POST /1/webhooks` with `callbackURL` set to `{url}`, `idModel` set to the id of the board, and key and token.',
    ],
    secret:
      'The **Secret** beside the API key (the OAuth secret of the app), as it stands. It is neither the key nor the token.',
    retries: 'Three tries, after 30, 60 and 120 s.',
    ifDown:
      'An outage of minutes loses events. Read the actions of that time by API: `GET /1/boards/{id}/actions` with `since`.',
    notes: [
      'Trello signs the body and the callback URL. If `publicUrl` differs from `callbackURL` in one character, every request is refused.',
      'The check is a HEAD request without signature, which Posthorn answers; it may come again later.',
      'A webhook ends with the token that made it.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the three tries and their times, and the later checks. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
  notion: {
    steps: [
      'Start Posthorn with the source, without `secretFile`: Notion hands over its token when the subscription is made.',
      'Open the settings of your integration at Notion, the tab **Webhooks**, **Create a subscription**.',
      'Paste `{url}`, choose the events, and click **Create subscription**.',
      'Run `posthorn sources token <code>` with the code of the source: it shows the token once.',
      'Click **Verify** at Notion and paste the token.',
    ],
    secret:
      'None to paste into a file: Notion sends the token to `{url}`, and Posthorn stores it encrypted. It is shown once, for the page of Notion, and is the key of all later signatures.',
    retries: 'Eight tries within 24 h.',
    ifDown:
      'Nothing is lost within 24 h. After that search by API (`POST /v1/search`, sorted by the last edit) or query the databases for what has changed.',
    notes: [
      'The integration only hears of pages that are shared with it.',
      'Events name a page and what kind of change it was, not its content: the handler reads it by API.',
      'If the token was missed, use **Resend token** on the page, or make the subscription anew.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the eight tries in 24 h. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
  monday: {
    steps: [
      'In the Developer Center open your app and copy the **Signing Secret** under **Basic Information** into the file of the secret.',
      'Start Posthorn with the source: monday.com checks the URL when it is entered.',
      'Call the GraphQL mutation `create_webhook` with the token of the app, `board_id`, `event` and `url` set to `{url}`.',
      'Change something on the board and look at the journal.',
    ],
    secret:
      'The **Signing Secret** of the app, as it stands. monday.com signs a JWT with it, which comes in the header `Authorization`.',
    retries: 'Every minute for 30 minutes.',
    ifDown:
      'An outage of more than 30 minutes loses events. Read the activity logs of the board by API (`activity_logs` with `from`).',
    notes: [
      'Webhooks that are added to a board in the Integrations center carry no signature; Posthorn refuses them. Make them with the token of an app.',
      'monday.com gives up a request after 3 minutes.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the JWT, its key and its time of expiry. If events come without `Authorization`, the webhook was not made by an app.",
      uncheckedLabels,
    ],
  },
  sentry: {
    steps: [
      'In Sentry go to **Settings**, **Custom Integrations** (formerly **Developer Settings**), **Create New Integration**, **Internal Integration**.',
      'Type a name and paste `{url}` into **Webhook URL**.',
      'Give it read permissions, tick the webhooks that you want (issue, error, comment), and enable **Alert Rule Action** for alerts.',
      'Click **Save Changes** and copy the **Client Secret**.',
      'For alerts, choose the integration as an action of the alert rule.',
    ],
    secret: 'The **Client Secret** of the integration, as it stands.',
    retries: 'None.',
    ifDown:
      'Events of that time are lost. List the issues by API (`GET /api/0/organizations/{org}/issues/` with a query on `lastSeen`). A thousand time-outs within 24 h end the subscription: save the integration again.',
    notes: [
      'Sentry waits 1 s for an answer. Put no slow proxy in between.',
      'The same issue comes with the same action again when it happens again; these are true events, and Posthorn does not take them as copies.',
      'Webhooks of the old plugin are not signed; this scheme is for integrations.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that nothing is repeated, and that `Request-ID` is the id of an event. If different events count as one, set `dedupe: body`.",
      uncheckedLabels,
    ],
  },
  pagerduty: {
    steps: [
      'In PagerDuty go to **Integrations**, **Generic Webhooks (v3)**, **New Webhook**.',
      'Paste `{url}` into **Webhook URL** and choose the scope: account, team or service.',
      'Choose the events and click **Add Webhook**.',
      'Copy the secret that is shown, as it is shown once.',
      'Open the webhook and click **Send Test Event**.',
    ],
    secret:
      'The secret of the webhook subscription, as it stands. With the API it is in the answer of `POST /webhook_subscriptions`.',
    retries:
      'Up to four further tries over about 20 minutes, on time-outs, 429 and 5xx; other 4xx are dropped at once.',
    ifDown:
      'An outage of more than 20 minutes loses events, and after three lost ones in a row PagerDuty switches the webhook off for 24 h. Enable it again on its page, and read the incidents of that time by API (`GET /incidents` with `since`, `GET /log_entries`).',
    notes: [
      'PagerDuty waits 5 s for an answer.',
      'A wrong secret is answered with 401, which PagerDuty does not repeat: such events are lost. Send a test event after each change.',
      'The test event is called `pagey.ping` and runs no handler.',
      'While a secret rotates, the header holds several signatures; any that matches is enough.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the largest body. One source says 2 MB, an older page drops what is over 256 KB. If events are refused as too large, raise `maxPayloadKb`.",
      uncheckedLabels,
    ],
  },
};
