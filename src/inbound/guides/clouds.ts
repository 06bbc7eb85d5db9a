import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Platforms, directories and services in the cloud. */
export const cloudGuides: Readonly<Record<string, Guide>> = {
  dockerhub: {
    steps: [
      'Choose a long URL that cannot be guessed, by giving the source a random code.',
      'Open the repository on Docker Hub and its tab **Webhooks**.',
      'Type a name, paste `{url}` as the destination, and click **Create**.',
    ],
    secret:
      'None: Docker Hub signs nothing and sends no password. The URL is all that protects the source, so keep it secret and choose the scheme by name, `scheme: dockerhub`.',
    retries: 'None that is documented: expect that each push is told once.',
    ifDown:
      'Pushes of that time are lost. **View History** in the menu of the webhook shows which requests failed; compare the tags by API with what you have.',
    notes: [
      'Whoever knows the URL can send anything: have the handler look the tag up at Docker Hub before acting on it.',
      'There is no id: repository, tag and time of the push together count as one event.',
      'The field `callback_url` in the body has no use any more.',
    ],
  },
  vercel: {
    steps: [
      'In the dashboard of the team go to **Settings**, **Webhooks**.',
      'Choose the events and the projects.',
      'Paste `{url}` into **Endpoint URL** and click **Create Webhook**.',
      'Copy the secret that is shown, as it is shown once.',
    ],
    secret:
      'The secret of the webhook, as it stands. For an integration it is the client secret of the integration instead.',
    retries: 'At growing intervals for up to 24 h.',
    ifDown:
      'Nothing is lost within 24 h. After that list the deployments by API (`GET /v6/deployments` with `since`).',
    notes: ['Vercel signs with HMAC-SHA1.', 'Webhooks of a team need a paid plan.'],
    unchecked: [
      "Not checked against the provider's documents: the 24 h, the 30 s for an answer, and which plan is needed. If it is less, get what is missing as described above.",
      uncheckedLabels,
    ],
  },
  'aws-sns': {
    steps: [
      'Put the ARN of the topic into `topics` of the source and start Posthorn.',
      'In the SNS console open the topic and click **Create subscription**, or run `aws sns subscribe`.',
      'Choose the protocol **HTTPS**, paste `{url}` into **Endpoint**, and leave **Enable raw message delivery** off.',
      'Click **Create subscription** and wait for the status **Confirmed**: Posthorn confirms it by itself.',
      'Run `aws sns set-topic-attributes` with `SignatureVersion` 2 (SHA-256) for the topic, if nothing else depends on version 1.',
    ],
    secret:
      'None: SNS signs with a certificate, which Posthorn fetches from `sns.<region>.amazonaws.com` alone. The source needs `topics`, the list of the ARNs that it takes.',
    retries: 'As the delivery policy of the subscription says.',
    ifDown:
      'Set a redrive policy with an SQS queue for the subscription: what SNS gives up is kept there and can be sent again. Without one, it is lost after the last try.',
    notes: [
      'A topic that is not in `topics` is neither confirmed nor taken, even with a true signature.',
      'Posthorn must reach SNS over https, for the certificate and for the confirmation.',
      'With raw delivery nothing is signed, and everything is refused.',
      'The event itself is a text inside `Message`, often JSON.',
    ],
    unchecked: [
      "Not checked against the provider's documents: about 50 tries by default, 15 s for an answer, and one hour as the greatest age of a message. Look into the delivery policy.",
      "Not checked against the provider's documents: whether the token is part of the signed text of an UnsubscribeConfirmation; both are accepted.",
    ],
  },
  okta: {
    steps: [
      'Start Posthorn with the source: Okta checks the URL once.',
      'In the Admin Console go to **Workflow**, **Event Hooks**, **Create Event Hook**.',
      'Paste `{url}` into the field for the endpoint URL.',
      'Type `Authorization` as **Authentication field** and paste the secret as **Authentication secret**.',
      'Choose the events, click **Save & Continue**, then **Verify**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`. Okta sends it as it is in `Authorization`.',
    retries: 'One further try after a time-out or a 5xx; none after a 4xx.',
    ifDown:
      'Almost everything of an outage is lost to the hook, but not to Okta: read the System Log by API (`GET /api/v1/logs` with `since` and `until`).',
    notes: [
      'Nothing is signed: whoever knows the value can send events. Use `https` only.',
      'A wrong value is answered with 401, which Okta does not repeat. It waits 3 s for an answer, and delivers at least once and in no certain order.',
      'One request may hold several events.',
    ],
    unchecked: [uncheckedLabels],
  },
  auth0: {
    steps: [
      'In the Auth0 dashboard go to **Monitoring**, **Streams**, **Create Log Stream**, **Custom Webhook**.',
      'Paste `{url}` into **Payload URL**.',
      'Type `Bearer`, a space and the secret into **Authorization Token**.',
      'Choose `application/json` as **Content Type** and **JSON Array** as **Content Format**, and click **Save**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, without the word `Bearer`. Auth0 sends the field of the stream in `Authorization`.',
    retries: 'Repeated; a stream that fails for 7 days is paused.',
    ifDown:
      'Start the stream again if it was paused. Read the logs of that time by API (`GET /api/v2/logs` with `from` and the last `log_id`), within the days that your plan keeps them.',
    notes: [
      'Nothing is signed: whoever knows the value can send events. Use `https` only.',
      'One request holds many entries, each with its `log_id`. Choose **JSON Array**: other formats are no JSON.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the 7 days, and that formats can be chosen. If there is no choice, look whether the body is JSON.",
      uncheckedLabels,
    ],
  },
  'ms-graph': {
    steps: [
      'Put a random text of at most 128 characters into the file of the secret and start Posthorn: Graph checks the URL during the call.',
      'Call `POST /v1.0/subscriptions` with `changeType`, `resource`, `expirationDateTime`, `notificationUrl` set to `{url}`, and `clientState` set to the secret.',
      'Give `{url}` as `lifecycleNotificationUrl` too.',
      'Renew the subscription before it expires, with `PATCH /v1.0/subscriptions/{id}`.',
    ],
    secret:
      'The text that you gave as `clientState`, for example from `openssl rand -hex 32`. Graph puts it into every notification; nothing is signed.',
    retries: 'For up to 4 h.',
    ifDown:
      'Nothing is lost within 4 h, if the subscription has not expired meanwhile. After that, and after a lifecycle event `missed`, ask for the changes with a delta query. An expired subscription has to be made again.',
    notes: [
      'A subscription lives between an hour and some weeks, depending on the resource; Posthorn does not renew it.',
      'Graph slows down for receivers that often need more than 3 s.',
      'Notifications with the data in them also carry `validationTokens`; `clientState` is what is checked here.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the greatest length of `clientState`, and how long subscriptions of your resource live. The answer to the call names its `expirationDateTime`.",
    ],
  },
  dropbox: {
    steps: [
      'In the App Console of Dropbox open the app and copy **App secret** under **Settings** into the file of the secret.',
      'Start Posthorn with the source: Dropbox checks the URL when it is added.',
      'Under **Webhooks** paste `{url}` as webhook URI and click **Add**; it must become **Enabled**.',
    ],
    secret: 'The **App secret** of the app, as it stands.',
    retries: 'At growing intervals.',
    ifDown:
      'Nothing is lost: a notification says only that an account has changed. Call `files/list_folder/continue` with the cursor that you kept for each account.',
    notes: [
      'The body names accounts, not files. Keep a cursor for each account, and ask for the changes in the handler.',
      'Equal bodies come again whenever the same account changes: they are no copies of one event.',
    ],
    unchecked: [
      "Not checked against the provider's documents: how long it repeats. It does not matter with cursors.",
      uncheckedLabels,
    ],
  },
  fusionauth: {
    steps: [
      'Make or choose a signing key under **Settings**, **Key Master**.',
      'Go to **Settings**, **Webhooks**, add one, and paste `{url}` into **URL**.',
      'Under **Security** switch on **Sign events** and choose the key.',
      'Choose the tenants and events of the webhook, and save.',
      'Enable the same events in the tenant, under **Tenants**, **Webhooks**.',
    ],
    secret:
      'For an HMAC key its secret, for an RSA or EC key the public key in PEM, as **Key Master** shows it.',
    retries: 'None after the fact: what a failure means is set by the transaction setting of the tenant.',
    ifDown:
      'Depending on that setting the action in FusionAuth fails, or it goes through and the event is lost. Read users and logins of that time by API.',
    notes: [
      'The signature is a JWT in `X-FusionAuth-Signature-JWT` with the hash of the body in it.',
      'A setting that needs all webhooks to succeed makes your sign-ins depend on Posthorn; choose another unless that is wanted.',
    ],
    unchecked: [
      "Not checked against the provider's documents: what is repeated under which transaction setting. Try it with Posthorn stopped.",
      uncheckedLabels,
    ],
  },
  elevenlabs: {
    steps: [
      'In ElevenLabs open **Settings**, **Webhooks**, and add a webhook with HMAC authentication.',
      'Type a name and paste `{url}` as callback URL.',
      'Copy the secret that is shown, as it is shown once.',
      'Choose the webhook where events come from, such as the post-call webhook in the settings of your agents.',
    ],
    secret: 'The secret of the webhook, as it stands.',
    retries: 'None.',
    ifDown: 'Events of that time are lost. List the conversations by API and read those that are missing.',
    notes: [
      'The timestamp may be 30 minutes old.',
      'A webhook that fails too often may be switched off; look at its page after an outage.',
      'Events with sound in them are large: raise `maxPayloadKb`.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that nothing is repeated, and when a webhook is switched off. If it does send again, nothing is processed twice.",
      uncheckedLabels,
    ],
  },
};
