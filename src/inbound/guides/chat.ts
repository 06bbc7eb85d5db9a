import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Messages, calls and meetings. */
export const chatGuides: Readonly<Record<string, Guide>> = {
  slack: {
    steps: [
      'Open the app among your Slack apps, or make one, and copy **Signing Secret** under **Basic Information**, **App Credentials**, into the file of the secret.',
      'Start Posthorn with the source: Slack checks the URL while you type.',
      'Go to **Event Subscriptions**, switch on **Enable Events**, and paste `{url}` into **Request URL**; it must turn to **Verified**.',
      'Add events under **Subscribe to bot events** and click **Save Changes**.',
      'Reinstall the app if Slack asks for it.',
    ],
    secret:
      'The **Signing Secret** of the app (not the verification token, not the client secret), as it stands.',
    retries: 'Up to three further tries within minutes; Slack waits 3 s for each answer.',
    ifDown:
      'An outage of more than a few minutes loses events. Read the messages with `conversations.history` from the time of the outage on. If Slack has switched the events off, enable them again under **Event Subscriptions**.',
    notes: [
      'Slash commands and interactivity have URLs of their own (**Slash Commands**, **Interactivity & Shortcuts**). They come as forms and are signed alike; use the same source or another.',
      'Whoever clicks or types expects an answer within 3 s. Posthorn answers with an empty 200; a handler answers later through `response_url`.',
      'The body also holds an old verification token. It is a secret; Posthorn does not use it.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the times of the tries (at once, after 1 and after 5 minutes), and that many failures switch the events off. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
  discord: {
    steps: [
      'Open the application in the Developer Portal and copy **Public Key** under **General Information** into the file of the secret.',
      'Start Posthorn with the source: Discord checks the URL when it is saved.',
      'For events go to **Webhooks**, paste `{url}` into **Endpoint URL**, switch on **Events**, and choose the events.',
      'For interactions paste `{url}` into **Interactions Endpoint URL** under **General Information** instead.',
      'Click **Save Changes**.',
    ],
    secret:
      'The **Public Key** of the application, 64 hexadecimal characters as shown. It is no secret, and it does not change.',
    retries:
      'At growing intervals for up to 10 minutes, and each answer must come within 3 s; then Discord switches the events off.',
    ifDown:
      'After 10 minutes events are lost, and there is no list to fetch them from: read the present state by API, and switch the events on again under **Webhooks**.',
    notes: [
      'Discord also sends requests with wrong signatures and expects 401. Such rows in the journal are its test, not an attack.',
      'An interaction expects its outcome in the answer. A handler runs after the answer: it must use the follow-up calls of the interaction.',
      'Events have no id; Posthorn makes one from their content.',
    ],
    unchecked: [uncheckedLabels],
  },
  telegram: {
    steps: [
      'Get the token of the bot from **@BotFather**.',
      'Call `setWebhook` of the Bot API with `url` set to `{url}` and `secret_token` set to the secret.',
      'Limit `allowed_updates` in the same call to what your handlers want.',
      'Call `getWebhookInfo` and look at `url`, `pending_update_count` and `last_error_message`.',
    ],
    secret:
      'A text that you make yourself: 1 to 256 characters of A-Z, a-z, 0-9, `_` and `-`, and at least 16 for Posthorn. `openssl rand -hex 32` makes one that fits. It is not the token of the bot.',
    retries:
      'Until it is taken: the wait doubles up to 60 to 120 s, and `Retry-After` is obeyed up to an hour.',
    ifDown:
      'Telegram keeps updates and sends them when Posthorn answers again, for up to 24 h. Older ones are gone; a bot cannot read them again.',
    notes: [
      'Only the ports 80, 88, 443 and 8443 are possible in the URL.',
      'A bot has one webhook, and `getUpdates` does not work beside it.',
      'A 410 over 23 h removes the webhook; Posthorn never answers 410.',
      'A body in the answer can be a call of the Bot API; Posthorn answers with an empty body.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the networks 149.154.160.0/20 and 91.108.4.0/22. To check them besides, set `require: [{ip: [...]}]`; leave it out if updates are refused.",
      "Not checked against the provider's documents: that updates are kept for 24 h. Look at `pending_update_count` of `getWebhookInfo` after an outage.",
    ],
  },
  'ms-teams': {
    steps: [
      'In Teams open **Manage team** of the team, **Apps**, **Create an outgoing webhook**.',
      'Type a name, which people will mention with @, and a description.',
      'Paste `{url}` into **Callback URL** and click **Create**.',
      'Copy the security token that is shown, as it is not shown again.',
    ],
    secret: 'The security token of the outgoing webhook, in base64 as shown; Posthorn decodes it.',
    retries: 'None.',
    ifDown:
      'Messages that mention the webhook in that time are lost to it; the person sees that it did not answer, and has to send the message again.',
    notes: [
      'Teams shows the answer as a message in the channel and expects it within 5 s. Posthorn stores the message and answers without text: use it for what needs no reply.',
      'A lost token cannot be shown again: delete the webhook and make a new one.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that nothing is repeated, the 5 s, and that `id` in the body is the id of the message. If messages count as copies of others, set `dedupe: body`.",
      uncheckedLabels,
    ],
  },
  twilio: {
    steps: [
      'In the Twilio Console go to **Phone Numbers**, **Manage**, **Active numbers**, and choose the number.',
      'Under **Configure**, at **A message comes in** or **A call comes in**, choose **Webhook**, paste `{url}`, and choose `HTTP POST`.',
      'Click **Save configuration**.',
      'For the state of messages that you send, give `{url}` as `StatusCallback` of the sending call instead.',
      'Set `publicUrl` of the source to `{url}`, letter by letter as Twilio has it.',
    ],
    secret:
      'The **Auth Token** of the account (not of an API key), as shown on the first page of the console. A subaccount has its own.',
    retries: 'One try with the fallback URL, if there is one; no others by default.',
    ifDown:
      'Requests of that time are lost. List the messages and calls by API (`GET /Messages.json`, `GET /Calls.json`) and compare; the console shows failed requests under **Monitor**, **Errors**.',
    notes: [
      'Twilio signs the URL and the fields of the form. If `publicUrl` differs in one character, every request is refused, also when a proxy changes host or scheme.',
      'An incoming message or call expects TwiML in the answer. Posthorn answers with an empty body: no reply is sent, and a call ends.',
      'While the Auth Token rotates, list the files of both tokens under `secretFile`.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the 15 s that Twilio waits, and that further tries can be asked for by overrides in the URL (`#rc=2` and the like). Such an ending must not stand in `publicUrl`.",
      uncheckedLabels,
    ],
  },
  zoom: {
    steps: [
      'In the Zoom App Marketplace open **Manage**, your app, **Features**, **Access**, and copy the **Secret Token** into the file of the secret.',
      'Start Posthorn with the source: Zoom checks the URL before it can be saved.',
      'Enable **Event Subscriptions**, click **Add New Event Subscription**, and choose the **Event Types**.',
      'Paste `{url}` into **Event notification endpoint URL**, click **Validate**, then **Save**.',
    ],
    secret:
      'The **Secret Token** of the app (not the client secret, and not the old verification token), as it stands.',
    retries: 'Three further tries within about one and a half hours; Zoom waits 3 s for each answer.',
    ifDown:
      'After the last try an event is not sent again. Read what is missing by API (meetings, recordings). Zoom checks the URL anew every 72 h; an outage over several checks switches the subscription off, and then it has to be validated again.',
    notes: [
      'The check every 72 h is answered by Posthorn itself and runs no handler.',
      'Events have no id: the kind of event, its time and the id of its object together count as one.',
      'After a new secret token the check fails until the file holds it.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the times. One page gives 5, then 20, then 60 minutes between the tries, another source 5, 30 and 90. Count on the shorter.",
      "Not checked against the provider's documents: that six failed checks in a row switch the subscription off, and the 300 s for the timestamp, which Zoom does not state. If late tries are refused as too old, raise `toleranceSeconds`.",
    ],
  },
};
