import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Subscriptions and their invoices. */
export const billingGuides: Readonly<Record<string, Guide>> = {
  paddle: {
    steps: [
      'In Paddle go to **Developer Tools**, **Notifications**, **New destination**.',
      'Choose **Webhook** as the type and paste `{url}` into **URL**.',
      'Choose the events and click **Save destination**.',
      'Open the menu of the new destination, **Edit destination**, and copy the **Secret key**.',
    ],
    secret:
      'The **Secret key** of the notification destination, whole and as it stands (it begins with `pdl_ntfset_`). Each destination has its own, and so have sandbox and live.',
    retries: 'Live: up to 60 tries over 3 days, at growing intervals. Sandbox: 3 tries in 15 minutes.',
    ifDown:
      'Nothing is lost within 3 days. After that, list the failed notifications and call `POST /notifications/{notification_id}/replay` for each; Paddle keeps them for 90 days. `GET /events` lists the events themselves.',
    notes: [
      'A replay has a new `notification_id` and the same `event_id`; Posthorn goes by the latter, so nothing is processed twice.',
      'The library of Paddle allows 5 s between signing and checking. Posthorn allows `toleranceSeconds`, 300 by default.',
      'At most ten destinations are active at once.',
      'While a key rotates, the header holds several `h1`; any that matches is enough.',
    ],
    unchecked: [
      uncheckedLabels,
      "Not checked against the provider's documents: the three tries in 15 minutes of the sandbox. If it is less, get what is missing as described above.",
    ],
  },
  'paddle-classic': {
    steps: [
      'Do not add a source for Paddle Classic: Posthorn cannot verify its alerts.',
      'Move to Paddle Billing and follow the guide of the scheme `paddle`, where `{url}` is pasted into a notification destination.',
    ],
    secret:
      'None. Paddle Classic signs the fields of a form in the serialisation of PHP with an RSA key; Posthorn has no check for this.',
    retries: 'About 3 days.',
    ifDown:
      'Posthorn takes no alert of Paddle Classic at any time. Whoever still depends on them keeps the present receiver until the move to Paddle Billing.',
    notes: [
      'A source with another scheme in front of these alerts would either refuse all of them or check nothing; both are worse than no source.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the form of the alerts, their signature and the 3 days.",
    ],
  },
  chargebee: {
    steps: [
      'In Chargebee go to **Settings**, **Configure Chargebee**, **API Keys and Webhooks**, **Webhooks**, **Add Webhook**.',
      'Type a name and paste `{url}` into **Webhook URL**.',
      'Tick **Protect webhook URL with basic authentication** and type the name and the password.',
      'Choose the API version and the events, and click **Create**.',
    ],
    secret:
      'One line, `name:password`, both of your own choice, the password at least 16 characters; the same two go into the fields of the webhook. The first colon separates them, so the name holds none.',
    retries: 'Up to 7 further tries, 2 minutes apart at first and growing to 2 days.',
    ifDown:
      'An outage of hours is made up by the further tries. For what is still missing, list the events by API (`GET /api/v2/events`), or open an event in Chargebee under **Logs**, **Events**, and send its webhook again.',
    notes: ['Nothing is signed: the password alone proves the sender, so use `https` only.'],
    unchecked: [
      "Not checked against the provider's documents: the number and the times of the further tries, and the 60 s that Chargebee waits for an answer. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
};
