import { listReceipts, type Receipt } from "@toolctrl/db/receipts";
import { findEvent, type EventRow } from "@toolctrl/outbox-drainer/stats";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { eventIdOf, notFound } from "../event-id.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { formatStatus, formatTime } from "../output/format-values.ts";
import { facts, table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";

/** `outbox show <id>`: one event with its payload and receipts. */
export function registerOutboxShow(parent: Command, registrar: Registrar): void {
  const command = parent.command("show").description("one event with its payload and receipts").argument("<id>", "id of the event");
  registrar.handle(command, async ({ io, json, args }) => {
    const id = eventIdOf(args[0]);
    return withDatabase(io, async ({ pool }) => {
      const event = await findEvent(pool, id);
      if (event === null) throw notFound(id);
      const receipts = await listReceipts(pool, id);
      writeResult(io, json, { event, receipts }, () => describe(io, event, receipts));
      return EXIT.ok;
    });
  });
}

function describe(io: Io, event: EventRow, receipts: readonly Receipt[]): string {
  const { payload, ...columns } = event;
  const rows = Object.entries(columns).flatMap(([name, value]) =>
    value === null ? [] : [[name, formatValue(io, name, value, event)] as const],
  );
  const list = receipts.map((receipt) => [
    receipt.consumer,
    receipt.outcome,
    String(receipt.effectEpoch),
    formatTime(receipt.updatedAt),
    receipt.detail ?? "",
  ]);
  return [
    facts(io, rows),
    "",
    "payload",
    JSON.stringify(payload, null, 2),
    "",
    receipts.length === 0 ? "No receipts." : table(io, ["CONSUMER", "OUTCOME", "EPOCH", "AT", "DETAIL"], list),
    "",
    `\`toolctrl-cli outbox trace ${event.id}\` tells the whole story.`,
  ].join("\n");
}

function formatValue(io: Io, name: string, value: string | number | boolean | Date, event: EventRow): string {
  if (name === "status") return formatStatus(io, event.status);
  return value instanceof Date ? formatTime(value) : String(value);
}
