import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** What became of e-mail. */
export const mailGuides: Readonly<Record<string, Guide>> = {
  sendgrid: {
    steps: [
      'In SendGrid go to **Settings**, **Mail Settings**, **Event Webhooks**, **Create new webhook**.',
      'Paste `{url}` into **Post URL** and choose the events.',
      'Under **Security features** enable **Signed Event Webhook** and save.',
      'Open the webhook again and copy the **Verification Key**.',
    ],
    secret:
      'The **Verification Key** (a public key in base64, in one line), as shown. The API gives it too: `GET /v3/user/webhooks/event/settings/signed/{id}`. It is no secret.',
    retries: 'For 24 h.',
    ifDown:
      'Nothing is lost within 24 h. After that bounces, blocks and spam reports can be listed by API; opens and clicks of that time are gone, unless the account has the Email Activity history.',
    notes: [
      'One request holds many events, each with its own `sg_event_id`. Posthorn stores the request whole.',
      'The line break at the end of the body is signed too: a proxy must not touch the body.',
      'Inbound Parse is another product, and its requests are not covered by this scheme.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the 24 h, and that Inbound Parse is not signed. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
  mailgun: {
    steps: [
      'In Mailgun go to **Sending**, **Webhooks**, and choose the domain.',
      'Click **Add webhook**, choose the **Event type**, paste `{url}` into **URL**, and click **Create webhook**.',
      'Repeat this for every type of event that you want.',
      'Copy **HTTP webhook signing key** from the API keys of the account.',
    ],
    secret:
      'The **HTTP webhook signing key** of the account (not a sending key or API key), as it stands. A subaccount has its own.',
    retries: 'After 5, 10 and 15 minutes, 1, 2 and 4 h.',
    ifDown:
      'Nothing is lost within about 7 h. After that read the events by API (`GET /v3/{domain}/events`); how many days they are kept depends on the plan.',
    notes: [
      'Mailgun signs a timestamp and a token, not the body: what the body says is not proven. Posthorn takes each token once.',
      'A 406 would stop the tries; Posthorn never answers 406.',
      'What a route forwards comes as a form, with the signature in fields of the form.',
    ],
    unchecked: [uncheckedLabels],
  },
  postmark: {
    steps: [
      'In Postmark open the server and the message stream, and go to **Webhooks**, **Add webhook**.',
      'Paste `{url}` into the field for the URL.',
      'Type the name and the password under **Basic auth credentials**.',
      'Choose the events, click **Send test**, and save.',
      'For incoming mail put both into the URL of the inbound stream: `{url}` with `name:password@` behind `https://`.',
    ],
    secret:
      'One line, `name:password`, both of your own choice, the password at least 16 characters; the same two go to Postmark. The first colon separates them, so the name holds none.',
    retries: 'Incoming mail: ten tries over about 10.5 h. A 403 stops them.',
    ifDown:
      'Incoming mail of more than 10.5 h stays in the activity of the stream, where each message can be sent again (`PUT /messages/inbound/{id}/retry`). Bounces and messages can be listed by API.',
    notes: [
      'Nothing is signed: the password alone proves the sender, so use `https` only.',
      'Percent-encode special characters where the password stands in a URL, and write it plainly into the file.',
      'Bodies of incoming mail with attachments are large: raise `maxPayloadKb`.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the tries for other events than incoming mail; expect fewer.",
      "Not checked against the provider's documents: that bounces are told apart by `ID`. If different events count as one, set `dedupe: body`.",
      uncheckedLabels,
    ],
  },
  nylas: {
    steps: [
      'In the Nylas dashboard open your application and go to **Notifications**, **Create webhook**.',
      'Paste `{url}` as the URL and choose the triggers.',
      'Copy the webhook secret that is shown once.',
    ],
    secret:
      'The webhook secret that Nylas shows when the webhook is made; it is used as the text that is shown.',
    retries: 'Tried again for hours with growing intervals.',
    ifDown: 'What was not delivered in that time is not sent again: read the objects by API.',
    notes: [
      'Bodies may come packed (gzip). The packed bytes are what is signed; Posthorn keeps the unpacked ones.',
      'The URL is first tried with GET and a `challenge`, which Posthorn repeats.',
    ],
    unchecked: [
      "Not checked against the provider's documents: how often it repeats, and that the packed bytes are signed.",
      uncheckedLabels,
    ],
  },
};
