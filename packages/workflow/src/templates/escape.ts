import { CodedError } from "@toolctrl/foundation/errors";
import { toValue } from "liquidjs";
import { createTextBudget } from "../text-budget.ts";
import { toJson } from "../to-json.ts";

const HTML: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };

/** A value as text: nothing for null, JSON for lists and objects. */
export function toText(value: unknown): string {
  const known: unknown = toValue(value);
  if (typeof known === "string") return known;
  if (known === null || known === undefined) return "";
  if (typeof known === "object") return JSON.stringify(toJson(known, createTextBudget("WORKFLOW.TEMPLATE", "a value of the template")));
  return typeof known === "number" || typeof known === "boolean" ? String(known) : "";
}

export function escapeHtml(value: unknown): string {
  return toText(value).replaceAll(/[&<>"']/g, (character) => HTML[character] ?? character);
}

/**
 * A value as one component of a URL: none of its characters separates anything.
 * @throws CodedError `WORKFLOW.TEMPLATE` for `.` and `..`, which cannot be encoded: as a segment of a path they take away another, also as `%2E`
 */
export function escapeUrl(value: unknown): string {
  const text = toText(value);
  if (text === "." || text === "..") throw new CodedError("WORKFLOW.TEMPLATE", `expected a value that can be part of a URL, got ${text}`);
  return encodeURIComponent(text.toWellFormed());
}
