// Checks messages with the receivers' own libraries: signatures of webhooks, cards for Teams, and embeds for Discord.

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { Webhook } = require("standardwebhooks");
const { EmbedBuilder } = require("@discordjs/builders");
const { AdaptiveCard, SerializationContext, Versions } = require("adaptivecards/dist/adaptivecards.js");

const sent = JSON.parse(fs.readFileSync(path.join(process.argv[2], "sent.json"), "utf8"));
if ([sent.webhook, sent.teams, sent.discord].some((all) => all.length < 4)) throw new Error("too little was sent");

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

for (const { body } of sent.discord) {
  const { embeds } = JSON.parse(body);
  assert.strictEqual(embeds.length, 1);
  for (const { title, description, url, color, timestamp, fields, ...rest } of embeds) {
    assert.deepStrictEqual(rest, {});
    // Each of these refuses the same as Discord.
    const embed = new EmbedBuilder().setTitle(title).setColor(color).setTimestamp(new Date(timestamp));
    embed.setDescription(description).setFields(...fields).setURL(url ?? null);
    assert.deepStrictEqual(embed.toJSON().fields, fields);
  }
}
console.log(`${sent.webhook.length} signatures, ${sent.teams.length} cards and ${sent.discord.length} embeds hold`);
