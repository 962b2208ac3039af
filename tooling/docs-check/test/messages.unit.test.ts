// What pages show of messages, compared with what the code makes of the same facts.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ProviderStatus } from "@toolctrl/domain/marketing";
import { webhookBody } from "@toolctrl/domain/webhook-endpoints";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import { expect, test } from "vitest";
import { codeBlocksOf } from "../src/code-blocks.ts";
import { readText, ROOT } from "../src/repository.ts";

/** The one block of a page that holds a text. */
function shown(path: string, text: string): string {
  const found = codeBlocksOf(readText(path)).filter(({ code }) => code.includes(text));
  expect(found, path).toHaveLength(1);
  return found[0]?.code ?? "";
}

/** Apps are loaded by path, as nothing else may import them. */
function loadApp<T>(path: string): Promise<T> {
  return import(pathToFileURL(join(ROOT, path)).href) as Promise<T>;
}

test.each([
  ["docs/reference/webhooks.md", "webhook.invoice.paid"],
  ["docs/guides/plugins.md", "timestamp"],
])("the request of %s is the one that is signed and sent", (path, text) => {
  const body = JSON.parse(shown(path, text)) as { type: string; timestamp: string; data: JsonObject };
  expect(JSON.parse(webhookBody({ type: body.type, createdAt: body.timestamp, data: body.data }).toString())).toEqual(body);
  expect(Object.keys(body)).toEqual(["type", "timestamp", "data"]);
});

test("the request that tells a marketing provider of a contact is the one that the guide shows, field by field", async () => {
  const { contactRequest } = await loadApp<{
    contactRequest(
      provider: { url: string; token: string },
      told: { contact: object; status: ProviderStatus; key: string },
    ): { url: string; method: string; headers: Record<string, string>; body: string };
  }>("apps/worker-mail/src/marketing/contact-request.ts");
  const [head = "", body = ""] = shown("docs/guides/marketing.md", "PUT /v1/contacts/").split("\n\n");
  const [line = "", ...headers] = head.split("\n");
  const field = (name: string): string => headers.find((each) => each.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
  const { tenant, email, revision, name, attributes, consent } = JSON.parse(body) as Record<string, string> & {
    consent: { at: string; source: string };
  };
  const contact = { id: line.split("/").at(-1), tenantId: tenant, email, revision, name, attributes };
  const said = { consentAt: new Date(consent.at), consentSource: consent.source };
  const provider = { url: "https://provider.example/v1", token: "<MARKETING_PROVIDER_TOKEN>" };
  const request = contactRequest(provider, { contact: { ...contact, ...said }, status: "subscribed", key: field("idempotency-key") });
  expect(`${request.method} ${new URL(request.url).pathname}`).toBe(line);
  expect(JSON.parse(request.body)).toEqual(JSON.parse(body));
  expect(request.headers).toMatchObject(Object.fromEntries(headers.map((each) => each.split(": "))));
});

test("the error of the workflow API is answered in the form, and with the fix, that the guide shows", async () => {
  const { apiErrorOf } = await loadApp<{ apiErrorOf(thrown: unknown): { body: { error: object } } }>("apps/web/src/http/api-error.ts");
  const { error } = JSON.parse(shown("docs/guides/workflow-api.md", "WORKFLOW.NOT_LIVE")) as { error: { message: string; facts: object } };
  const thrown = new CodedError("WORKFLOW.NOT_LIVE", error.message, { facts: error.facts as Record<string, unknown> });
  expect(apiErrorOf(thrown).body.error).toEqual(error);
});
