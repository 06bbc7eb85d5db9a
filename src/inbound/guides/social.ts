import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Networks of people. */
export const socialGuides: Readonly<Record<string, Guide>> = {
  meta: {
    steps: [
      'Choose a verify token of your own, put it into a file, and name that under `verifyTokenFile` of the source; then start Posthorn.',
      'In the App Dashboard of Meta open the app and go to **Webhooks** (for WhatsApp: **WhatsApp**, **Configuration**).',
      'Paste `{url}` into **Callback URL** and the verify token into **Verify token**, and click **Verify and save**.',
      'Subscribe to the fields that you want, such as `messages`.',
      'Connect the page or the WhatsApp account with the app (`POST /{id}/subscribed_apps`).',
    ],
    secret:
      'The **App secret** of the app, under **App settings**, **Basic**, in the file of the secret. The verify token is another text, which you choose; it is used once, when the URL is checked.',
    retries: 'At falling frequency for 36 h; WhatsApp for up to 7 days.',
    ifDown:
      'Nothing is lost within these times. After that WhatsApp messages cannot be fetched; posts, comments and conversations of pages can be read with the Graph API.',
    notes: [
      'One request may hold several events, of several pages: look through all of `entry` and `changes`.',
      'Do not parse and write the body again before checking it elsewhere: letters beyond ASCII come as `\\u` escapes, and the bytes are signed as sent.',
      'An app in development mode receives little more than test events.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the 7 days of WhatsApp, and the escapes. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
  x: {
    steps: [
      'Put the consumer secret into the file of the secret and start Posthorn: X checks the URL while it is registered.',
      'Register the URL with `POST /2/webhooks`, `url` set to `{url}`, with the bearer token of the app.',
      'Subscribe each account to the webhook through the Account Activity API.',
      'Look at the list of webhooks (`GET /2/webhooks`): the entry must be valid.',
    ],
    secret:
      'The consumer secret of the app (**API Key Secret** in the developer portal, under **Keys and tokens**), as it stands. Regenerating it makes the webhook invalid until the file holds the new one.',
    retries: 'Few.',
    ifDown:
      'Events are lost after few tries. X also checks the URL every hour; after a failed check it marks the webhook as invalid and sends nothing until `PUT /2/webhooks/{webhook_id}` asks for a new check. Read what is missing by API.',
    notes: [
      'The hourly check is answered by Posthorn itself and runs no handler.',
      'The URL has no port of its own and must be reachable over https.',
      'Events have no id of their own: the ids of the objects in them are used.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the number of tries, the paths of the calls in version 2 and whether your plan has the Account Activity API, and that the URL may not name a port. The developer portal shows what your plan has.",
    ],
  },
  twitch: {
    steps: [
      'Put the secret into its file and start Posthorn: Twitch checks the URL while the subscription is made.',
      'Get an app access token of your application.',
      'Call `POST /helix/eventsub/subscriptions` with `type`, `version`, `condition` and a `transport` of `method` `webhook`, `callback` `{url}` and `secret`.',
      'Look at `GET /helix/eventsub/subscriptions`: the status must be `enabled`.',
    ],
    secret:
      'A text that you make yourself, 10 to 100 ASCII characters (at least 16 for Posthorn), for example with `openssl rand -hex 32`. It is given with each subscription; use the same for all of one source.',
    retries:
      'An event may be sent again when Twitch is not sure that it has arrived; a schedule is not known.',
    ifDown:
      'Events of a long outage are lost; read the present state by API. Too many failures end the subscription with the status `notification_failures_exceeded`: make it again.',
    notes: [
      'The URL must be https on port 443.',
      'When a subscription ends, Twitch sends a message of the type `revocation` with the reason.',
      'Twitch asks for an answer within a few seconds.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the three headers with id, timestamp and signature, the signed text, and the 10 minutes for the timestamp. If events are refused, the journal gives the reason.",
    ],
  },
  strava: {
    steps: [
      'Choose a long URL that cannot be guessed, by giving the source a random code.',
      'Choose a verify token of your own, put it into a file, and name that under `verifyTokenFile` of the source; then start Posthorn.',
      'Call `POST /api/v3/push_subscriptions` with `client_id`, `client_secret`, `callback_url` set to `{url}`, and `verify_token`.',
      'Keep the `id` of the answer: it is the `subscription_id` of every event.',
    ],
    secret:
      'None: Strava signs nothing. The URL is all that protects the source, so keep it secret and choose the scheme by name, `scheme: strava`. The verify token is used once, when the URL is checked.',
    retries: 'Up to three tries.',
    ifDown:
      'Events of a longer outage are lost. Read the activities of each athlete by API (`GET /athlete/activities` with `after`) and compare.',
    notes: [
      'An application has one subscription; delete the old one before a new one is made.',
      'Have the handler compare `subscription_id` with your own, and read the activity by API before acting on it.',
    ],
    unchecked: [
      "Not checked against the provider's documents: anything on this page, among it the 2 s for the answer, the three tries and the fields of the event. If different events count as one, set `dedupe: body`.",
    ],
  },
};
