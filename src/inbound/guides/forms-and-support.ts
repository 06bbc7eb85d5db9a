import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Customers, their questions, forms, dates and signatures. */
export const formAndSupportGuides: Readonly<Record<string, Guide>> = {
  hubspot: {
    steps: [
      'Open the app in your HubSpot developer account and copy **Client secret** under **Auth** into the file of the secret.',
      'Set `publicUrl` of the source to `{url}`.',
      'Go to **Webhooks** of the app, paste `{url}` into **Target URL**, and save.',
      'Click **Create subscription**, choose objects and events, and click **Subscribe**.',
      'Activate the subscription, and install the app in the account that is to be watched.',
    ],
    secret: 'The **Client secret** of the app, as it stands. A private app has its own.',
    retries: 'Up to ten tries within 24 h; HubSpot waits 5 s for each answer.',
    ifDown:
      'Nothing is lost within 24 h. After that search the objects by API (`POST /crm/v3/objects/{type}/search` with the date of the last change).',
    notes: [
      'HubSpot signs method, URL, body and timestamp. If `publicUrl` differs from the target URL in one character, every request is refused.',
      'One request holds up to 100 events. Posthorn stores the request whole.',
      'The timestamp is in milliseconds; older than 5 minutes is refused.',
      'Webhooks of workflows are signed in another way: see the scheme `hubspot-v1v2`.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the ten tries in 24 h and the 5 s. If it is less, get what is missing as described above.",
      "Not checked against the provider's documents: whether escapes in the URL are decoded before signing. Posthorn tries both; a URL without escapes avoids the question.",
      "Not checked against the provider's documents: that the id of an event is not unique by itself. Have the handler go by subscription, object and time besides.",
      uncheckedLabels,
    ],
  },
  'hubspot-v1v2': {
    steps: [
      'Prefer the scheme `hubspot` for webhooks of an app; this one is for senders that still use the older signatures, such as workflows.',
      'In HubSpot go to **Automation**, **Workflows**, choose the workflow, and add the action **Send a webhook**.',
      'Choose `POST` and paste `{url}` as the webhook URL.',
      'Choose the authentication **Include request signature in header** and type the id of your app.',
      'Set `publicUrl` of the source to `{url}`.',
    ],
    secret: 'The client secret of the app whose id you gave, as it stands.',
    retries:
      'Workflows: for up to 3 days, from 1 minute up to 8 h apart, but not after a 4xx other than 429. Apps: up to ten tries within 24 h.',
    ifDown:
      'Nothing is lost within that time. After that enrol the records in the workflow again, or search the objects by API.',
    notes: [
      'These signatures are plain SHA-256 of the secret and the text, without HMAC and without a timestamp: a copy of a request stays valid.',
      'Version 2 covers method and URL, so `publicUrl` must be what HubSpot has, letter by letter.',
    ],
    unchecked: [
      "Not checked against the provider's documents: which senders of HubSpot still use version 1 or 2, and the ten tries of apps. If all is refused, try the scheme `hubspot`.",
      uncheckedLabels,
    ],
  },
  intercom: {
    steps: [
      'Open the app in the Intercom Developer Hub and copy **Client secret** under **Basic information** into the file of the secret.',
      'Start Posthorn with the source: Intercom checks the URL when it is saved.',
      'Go to **Configure**, **Webhooks**, and paste `{url}` as the endpoint URL; it must begin with `https`.',
      'Choose the topics and save.',
    ],
    secret: 'The **Client secret** of the app, as it stands.',
    retries: 'One further try after a minute.',
    ifDown:
      'An outage of more than a minute loses events. Search conversations and contacts by API with `updated_at` from the time of the outage on.',
    notes: [
      'Intercom signs with HMAC-SHA1 in `X-Hub-Signature`; this is not the SHA-256 of other senders with this header.',
      'The check is a HEAD request, which Posthorn answers. The topic `ping` runs no handler.',
      'A subscription belongs to the app and brings events of all workspaces that have installed it.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the single further try, the 5 s for an answer, and that 410 ends the subscription (Posthorn never answers 410). If it is less, get what is missing as described above.",
    ],
  },
  zendesk: {
    steps: [
      'In the Admin Center open **Apps and integrations**, **Webhooks**, **Create webhook**.',
      'Choose **Zendesk events** and the events, or **Trigger or automation**, and click **Next**.',
      'Type a name, paste `{url}` into **Endpoint URL**, choose `POST` and `JSON`, and finish.',
      'Open the webhook and click **Reveal secret** beside **Signing secret**.',
      'With a trigger or automation, add the action **Notify active webhook** there.',
    ],
    secret:
      'The **Signing secret** of the webhook, as it stands. The API gives it too: `GET /api/v2/webhooks/{webhook_id}/signing_secret`.',
    retries: 'Up to three further tries, for certain answers only.',
    ifDown:
      'Most events of an outage are lost. The webhook shows its requests of the last 7 days with their outcome; read the rest by API (incremental exports of tickets and users).',
    notes: [
      'A webhook is bound either to events or to triggers; the kind cannot be changed later.',
      'A payload is smaller than 256 KB. That of a trigger is what you write into the action, and it may be empty.',
      'The **Test webhook** before the webhook is saved is signed with a fixed test secret, so it is refused here; test after saving.',
    ],
    unchecked: [
      "Not checked against the provider's documents: which answers are repeated (409, and 429 and 503 with a short `Retry-After`), the 12 s for an answer, and the pause after many failures. If it is less, get what is missing as described above.",
      "Not checked against the provider's documents: the 300 s for the timestamp, and the fixed secret of the test. If true events are refused as too old, raise `toleranceSeconds`.",
      uncheckedLabels,
    ],
  },
  docusign: {
    steps: [
      'In DocuSign go to **Admin**, **Connect**, the tab **Connect Keys**, **Add Secret Key**, and copy the key, as it is shown once.',
      'On the first tab click **Add Configuration**, **Custom**.',
      'Paste `{url}` into **URL to Publish** and choose JSON as the data format.',
      'Choose the events and tick **Include HMAC Signature**.',
      'Click **Add Configuration**.',
    ],
    secret: 'The Connect key, as it stands. An account may have several; any of them is enough.',
    retries: 'For days, at growing intervals.',
    ifDown:
      'Nothing is lost for days. What failed stands in Connect under **Failures** and can be published again there, or by API (`PUT .../connect/envelopes/retry_queue`).',
    notes: [
      'Without **Include HMAC Signature** nothing is signed and everything is refused.',
      'Developer and production accounts have keys of their own.',
      'Documents in the body make it large: leave them out, or raise `maxPayloadKb`.',
    ],
    unchecked: [
      "Not checked against the provider's documents: how long it repeats, the 100 s for an answer, and that envelope, event and time together mark one event. If different events count as one, set `dedupe: body`.",
      uncheckedLabels,
    ],
  },
  calendly: {
    steps: [
      'Make a personal access token in Calendly under **Integrations & apps**, **API and webhooks**.',
      'Read your `organization` and `user` with `GET /users/me`.',
      'Call `POST /webhook_subscriptions` with `url` set to `{url}`, `events`, `organization`, `user`, `scope`, and `signing_key` set to the secret.',
      'Look at the answer: `state` must be `active`.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, and give as `signing_key`. It is not the access token.',
    retries: 'At growing intervals for 24 h; then the subscription is disabled.',
    ifDown:
      'Nothing is lost within 24 h. After that delete the subscription and make it again, and list what was booked by API (`GET /scheduled_events` with `min_start_time`).',
    notes: [
      'Without `signing_key` nothing is signed; it cannot be added later.',
      'The timestamp may be about 180 s old; if late tries are refused, raise `toleranceSeconds`.',
      'Redirects count as failures, and a 410 deletes the subscription; Posthorn answers neither.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that there is no id of an event. Posthorn goes by the invitee, the event and its time; if different events count as one, set `dedupe: body`.",
      uncheckedLabels,
    ],
  },
  typeform: {
    steps: [
      'Open the form in Typeform and go to **Connect**, **Webhooks**, **Add a webhook**.',
      'Paste `{url}` into **Endpoint** and click **Save webhook**.',
      'Click **Edit**, paste the secret into **Secret**, and save.',
      'Switch the webhook on and click **Send test request** under **View deliveries**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, and paste into **Secret**.',
    retries: 'For about 10 h.',
    ifDown:
      'Nothing is lost within about 10 h. After that list the responses by API: `GET /forms/{form_id}/responses` with `since`.',
    notes: [
      'The signature is base64, not hexadecimal.',
      'Each form has its own webhook: use the same secret for all that share a source.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the 10 h, the 30 s for an answer, and that 404 and 410 disable the webhook. A source code that is misspelt in the URL is answered with 404.",
      uncheckedLabels,
    ],
  },
};
