import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Who takes money. */
export const paymentGuides: Readonly<Record<string, Guide>> = {
  stripe: {
    steps: [
      'In the Stripe Dashboard open **Developers** (or **Workbench**), **Webhooks**, **Add destination** (formerly **Add endpoint**).',
      'Choose the events and **Webhook endpoint** as the kind of destination.',
      'Paste `{url}` into **Endpoint URL** and click **Create destination**.',
      'Open the new destination and reveal its **Signing secret**.',
    ],
    secret:
      'The **Signing secret** of the endpoint, whole, with `whsec_`. Each endpoint has its own, test and live differ, and the one that the Stripe CLI prints is another again.',
    retries: 'Live: up to 3 days at growing intervals. Sandbox: three tries within a few hours.',
    ifDown:
      'Nothing is lost within 3 days. After that list the events by API (`GET /v1/events?delivery_success=false`, back to 30 days), or resend single ones from the page of the endpoint or with `stripe events resend`.',
    notes: [
      'The text `whsec_...` is the key as it is written. It is not decoded, although other senders use the same prefix for base64.',
      'Stripe does not keep the order of events: compare times in the payload, not the order of arrival.',
      'Events that come over Amazon EventBridge or Azure Event Grid carry no signature of Stripe.',
      'Rolling the secret keeps the old one valid for up to 24 h; list both files under `secretFile` in that time.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that each try is signed anew with a new timestamp. If late tries were refused as too old, raise `toleranceSeconds`.",
      "Not checked against the provider's documents: how many days back events can be listed and resent, and that a rolled secret holds for up to 24 h. Read older objects one by one, and choose the time of expiry when you roll.",
      uncheckedLabels,
    ],
  },
  paypal: {
    steps: [
      'In the PayPal Developer Dashboard open **Apps & Credentials**, switch to **Live** or **Sandbox**, and choose the app.',
      'Under **Webhooks** click **Add Webhook**.',
      'Paste `{url}` into **Webhook URL**, choose the event types, and click **Save**.',
      'Copy the **Webhook ID** that appears in the list into `webhookId` of the source.',
    ],
    secret:
      'No secret: PayPal signs with a certificate that Posthorn fetches from PayPal. The source needs `webhookId` instead, which is part of the signed text; it is no secret.',
    retries: 'Up to 25 times over 3 days.',
    ifDown:
      'Nothing is lost within 3 days. After that list the events with `GET /v1/notifications/webhooks-events` and have each sent again with `POST /v1/notifications/webhooks-events/{event_id}/resend`.',
    notes: [
      'Posthorn must reach PayPal over https for the certificate; it takes none from another host.',
      'Events of the simulator in the dashboard are not signed for your webhook and are refused. Test with a payment in the sandbox.',
      'Sandbox and live have a webhook and an id each: make two sources.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the form of the signed text and of the checksum in it, and the host of the certificate. If every real event is refused, compare one by PayPal's call `POST /v1/notifications/verify-webhook-signature` and report it.",
      uncheckedLabels,
    ],
  },
  square: {
    steps: [
      'Open the Square Developer Console, click **Open** at the application, and go to **Webhooks**, **Subscriptions**, **Add subscription**.',
      'Type a name and paste `{url}` as the notification URL.',
      'Choose the API version and the events, and click **Save**.',
      'Open the new subscription and click **Show** in the box **Signature Key**.',
      'Set `publicUrl` of the source to `{url}`, letter by letter as Square has it.',
    ],
    secret: 'The **Signature Key** of the subscription, as it stands. Each subscription has its own.',
    retries: 'Up to 24 h.',
    ifDown:
      'Nothing is lost within 24 h. After that Square drops the notification: read what is missing with the Events API (`POST /v2/events/search`) or from the objects themselves. A subscription without any 2xx for 3 weeks is switched off.',
    notes: [
      'Square signs the notification URL together with the body. If `publicUrl` differs in one character, also by a slash at the end, every request is refused.',
      'Two subscriptions with the same URL are signed with two keys: give each a source of its own.',
    ],
    unchecked: [
      "Not checked against the provider's documents: which holds, the 24 h of a newer page or the 72 h of an older one. Count on 24 h.",
    ],
  },
  adyen: {
    steps: [
      'In the Customer Area go to **Developers**, **Webhooks**, **+ Webhook**, and add a **Standard webhook**.',
      'Paste `{url}` as the URL under **Server configuration** and choose JSON as the method.',
      'Under **Security**, **HMAC key**, click **Generate** and copy the key at once.',
      'Type a name and a password for **Basic authentication**.',
      'Click **Save changes**, then **Test configuration**.',
    ],
    secret:
      'The HMAC key, 64 hexadecimal characters as shown; Posthorn decodes them. It is shown once. The name and the password are checked besides: put `name:password` into a second file and name it under `require: [{basic: {secretFile}}]`.',
    retries: 'Queued and sent again at growing intervals until it is acknowledged.',
    ifDown:
      'Nothing is lost: Adyen holds the queue and works it off when Posthorn answers again. The Customer Area lists failed webhooks, where they can be sent again by hand.',
    notes: [
      'One request may hold several items; each carries its own signature, and Posthorn checks all of them.',
      'The signature covers eight fields of an item, not the whole body. Do not rely on other fields without asking Adyen.',
      'After a new key, older events may still be signed with the former one: list both files under `secretFile` for a while.',
      'Posthorn answers `[accepted]`, which Adyen expects.',
    ],
    unchecked: [
      uncheckedLabels,
      "Not checked against the provider's documents: that webhooks in the form or SOAP format exist beside JSON (choose JSON), and where failed webhooks are listed. If you do not find the list, wait for the queue.",
    ],
  },
  'adyen-platform': {
    steps: [
      'In the Customer Area of the balance platform go to **Developers**, **Webhooks**, **+ Webhook**, and choose the kind, such as **Configuration** or **Transfer**.',
      'Paste `{url}` as the URL under **Server configuration**.',
      'Under **Security**, **HMAC key**, click **Generate** and copy the key at once.',
      'Click **Save changes**.',
    ],
    secret:
      'The HMAC key, hexadecimal as shown; Posthorn decodes it. It is shown once, and each webhook has its own.',
    retries: 'Queued and sent again at growing intervals until it is acknowledged with a 2xx within 10 s.',
    ifDown: 'Nothing is lost: Adyen holds the queue and works it off when Posthorn answers again.',
    notes: [
      'The signature is in the header `HmacSignature` and covers the whole body, other than with the standard webhook: the two need different schemes.',
      'After a new key, older events may still be signed with the former one: list both files under `secretFile` for a while.',
    ],
    unchecked: [
      "Not checked against the provider's documents: where the id of an event stands in the body. If different events count as one, set `dedupe: body`.",
      uncheckedLabels,
    ],
  },
  razorpay: {
    steps: [
      'In the Razorpay Dashboard go to **Account & Settings**, **Webhooks**, **Add New Webhook**.',
      'Paste `{url}` into **Webhook URL**.',
      'Paste the secret into **Secret** and type an e-mail address into **Alert Email**.',
      'Choose the **Active Events** and click **Create Webhook**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, and paste into **Secret**. Test mode and live mode have webhooks of their own.',
    retries: 'At growing intervals for 24 h; then the webhook is switched off and an e-mail is sent.',
    ifDown:
      'Nothing is lost within 24 h. After that enable the webhook again in the dashboard and replay events of the last 7 days there; older ones have to be read from the API.',
    notes: [
      'Razorpay waits 5 s for the answer.',
      'After a change of the secret, tries of older events still come with the former one: list both files under `secretFile` for a day.',
    ],
    unchecked: [uncheckedLabels],
  },
  'coinbase-commerce': {
    steps: [
      'In Coinbase Commerce go to **Settings**, **Notifications**, **Add an endpoint**.',
      'Paste `{url}` and save.',
      'Click **Show shared secret** and copy it.',
      'Click **Send test** beside the endpoint.',
    ],
    secret: 'The shared secret of the page, as it stands. It is one for all endpoints of the account.',
    retries: 'At growing intervals, for about 3 days.',
    ifDown:
      'An outage of hours is made up by the further tries. For what is missing afterwards, list the events by API (`GET /events`) or look at the charges themselves.',
    notes: [
      'The outer `id` belongs to the delivery; Posthorn goes by `event.id`, which stays the same over all tries.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the 3 days. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
  yookassa: {
    steps: [
      'In the YooKassa merchant account go to **Integration**, **HTTP notifications**.',
      'Paste `{url}` as the URL for notifications; it must begin with `https`.',
      'Choose the events and save.',
      'Behind a proxy set `http.trustProxy`, so that Posthorn sees the address of the sender.',
    ],
    secret:
      'None: YooKassa signs nothing and sends no password. Posthorn goes by the address of the sender, which must lie in the networks that YooKassa publishes.',
    retries: 'For 24 h.',
    ifDown:
      'Nothing is lost within 24 h. After that list the payments and refunds by API (`GET /v3/payments`, `GET /v3/refunds`) and compare.',
    notes: [
      'Read the payment by API (`GET /v3/payments/{id}`) before acting on it; a notification alone proves no payment.',
      'There is no id of an event: the kind of event and the id of the object together count as one.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the 24 h, and that any answer but 200 is a failure. If it is less, get what is missing as described above.",
      "Not checked against the provider's documents: two single addresses, 77.75.156.11 and 77.75.156.35, which newer lists name beside the networks. If notifications are refused for their address, compare with the present list.",
      uncheckedLabels,
    ],
  },
  cloudpayments: {
    steps: [
      'In the merchant account open **Sites** and the settings of the site.',
      'Make one source for each kind of notification (pay, fail, confirm, refund, cancel, recurrent), as the kind shows in the URL alone.',
      'Switch on each notification and paste its `{url}`, with POST, UTF-8 and the format of CloudPayments.',
      'Save the settings of the site.',
    ],
    secret:
      'The **API Secret** of the site (the password for the API), as it stands; it is shown in the settings of the site.',
    retries: 'Many times, until the answer is `{"code":0}`.',
    ifDown:
      'The further tries make up for an outage. For what is missing, list the payments of a day by API (`/payments/list`).',
    notes: [
      'The kind check asks whether a payment may go ahead, and the answer decides. Posthorn answers `{"code":0}`, which lets every payment through; point check to your own program if it is to refuse any.',
      'There are two signature headers, `Content-HMAC` and `X-Content-HMAC`; one covers the body as sent, the other the decoded one. Posthorn accepts either.',
    ],
    unchecked: [
      "Not checked against the provider's documents: which header covers which form of the body; both ways are tried.",
      "Not checked against the provider's documents: up to 100 tries, and that JSON can be chosen instead of a form. Choose the form. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
};
