// Judges what was sent with libraries of the other side: webhooks' signatures, and cards for Teams.

const fs = require("node:fs");
const path = require("node:path");
const { Webhook } = require("standardwebhooks");
const { AdaptiveCard, SerializationContext, Versions } = require("adaptivecards/dist/adaptivecards.js");

const sent = JSON.parse(fs.readFileSync(path.join(process.argv[2], "sent.json"), "utf8"));
if (sent.webhook.length < 4 || sent.teams.length < 4) throw new Error("too little was sent");

for (const { headers, body } of sent.webhook) {
  new Webhook(sent.key).verify(body, headers);
  const wrong = { ...headers, "webhook-id": `${headers["webhook-id"]}x` };
  let passed = true;
  try {
    new Webhook(sent.key).verify(body, wrong);
  } catch {
    passed = false;
  }
  if (passed) throw new Error("a signature held for another id");
}

for (const { body } of sent.teams) {
  const { attachments } = JSON.parse(body);
  for (const { contentType, content } of attachments) {
    if (contentType !== "application/vnd.microsoft.card.adaptive") throw new Error(contentType);
    const context = new SerializationContext(Versions.v1_4);
    new AdaptiveCard().parse(content, context);
    for (let at = 0; at < context.eventCount; at++) {
      throw new Error(context.getEventAt(at).message);
    }
  }
}
console.log(`${sent.webhook.length} signatures and ${sent.teams.length} cards hold`);
