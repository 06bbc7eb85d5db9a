import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Senders that follow Standard Webhooks, or Svix, from which it comes. */
export const standardGuides: Readonly<Record<string, Guide>> = {
  'standard-webhooks': {
    steps: [
      'Open the page for webhooks at the sender and add an endpoint.',
      'Paste `{url}` as the URL and choose the events.',
      'Copy the signing secret (`whsec_...`) or the public key (`whpk_...`) of the endpoint.',
      'Send a test event, if the page offers it.',
    ],
    secret:
      'The signing secret with its prefix, as shown: `whsec_` and base64 for HMAC, or `whpk_` and base64 for Ed25519. Posthorn decodes what follows the prefix.',
    retries:
      'The standard proposes ten tries, from at once, 5 s and 5 minutes up to 24 h apart, over about 3 days; each sender decides for itself.',
    ifDown:
      'Senders that keep to the proposal lose nothing within about 3 days. After that use the replay of the sender, or its API.',
    notes: [
      'The sender must sign `webhook-id`, `webhook-timestamp` and the body. The clock of the server must be right: the timestamp may differ by 300 s.',
      'Several signatures in one header are usual while a secret rotates; any that matches is enough.',
      'A 410 tells the sender to stop for good; Posthorn never answers 410.',
    ],
    unchecked: [
      "Not checked against the provider's documents: what your sender makes of the standard. Look for its tries and for its replay there.",
    ],
  },
  resend: {
    steps: [
      'In Resend go to **Webhooks**, **Add Webhook**; in Clerk to **Configure**, **Webhooks**, **Add Endpoint**.',
      'Paste `{url}` into **Endpoint URL**.',
      'Choose the events and confirm.',
      'Open the endpoint and copy its **Signing Secret**.',
    ],
    secret:
      'The **Signing Secret** of the endpoint, whole, with `whsec_`. Posthorn decodes the base64 behind it. Each endpoint has its own.',
    retries:
      'At once, then after 5 s, 5 minutes, 30 minutes, 2, 5, 10 and 10 h; Svix waits 15 s for each answer.',
    ifDown:
      'Nothing is lost within about 27 h. After that open the endpoint and use **Replay** or **Recover**, which send failed messages of a time anew. An endpoint that failed for 5 days is disabled: enable it first.',
    notes: [
      'The scheme fits any sender that uses Svix; the headers are called `svix-...`, and often `webhook-...` besides.',
      'The id stays the same over all tries and replays.',
      'The timestamp is signed and may differ by 300 s; each try gets a new one.',
    ],
    unchecked: [
      uncheckedLabels,
      "Not checked against the provider's documents: whether the page of your sender offers the replay. If not, ask it for one or read its API.",
    ],
  },
  openai: {
    steps: [
      'In the OpenAI dashboard go to **Settings**, **Project**, **Webhooks**, **Create**.',
      'Type a name, paste `{url}` as the URL, and choose the event types.',
      'Copy the signing secret, as it is shown once.',
      'At Replicate give `{url}` as `webhook` of each prediction instead; at Recall.ai add it in the dashboard under **Webhooks**.',
    ],
    secret:
      'The signing secret, whole, with `whsec_`; Posthorn decodes the base64 behind it. Replicate gives it by API (`GET /v1/webhooks/default/secret`), Recall.ai on the page of the endpoint.',
    retries:
      'OpenAI: at growing intervals for up to 72 h; it waits 20 s for each answer, and a redirect is a failure.',
    ifDown:
      'Nothing is lost within 72 h. After that read the objects by API: responses, batches and fine-tuning jobs by their ids; predictions at Replicate.',
    notes: [
      'An event holds the id of an object, not the result: the handler fetches it.',
      'The id in `webhook-id` is the same for all tries.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the 72 h, the paths in the dashboards of Replicate and Recall.ai, and how these two repeat.",
      uncheckedLabels,
    ],
  },
};
