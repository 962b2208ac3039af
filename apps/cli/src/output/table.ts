import { styleText } from "node:util";
import Table from "cli-table3";
import type { Io } from "../io.ts";

type Style = Parameters<typeof styleText>[0];

/** Colours a text where the output is a terminal that wants colours, and leaves it as it is elsewhere. */
export function paint(io: Io, style: Style, text: string): string {
  return styleText(style, text, { stream: io.out });
}

const NO_LINES = Object.fromEntries(
  [
    "top",
    "top-mid",
    "top-left",
    "top-right",
    "bottom",
    "bottom-mid",
    "bottom-left",
    "bottom-right",
    "left",
    "left-mid",
    "mid",
    "mid-mid",
    "right",
    "right-mid",
  ].map((name) => [name, ""]),
);

/** Rows under aligned headings, without lines: easy to read, and to cut with a script. Texts keep to one line. */
export function table(io: Io, head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const grid = new Table({
    head: head.map((name) => paint(io, "dim", name)),
    chars: { ...NO_LINES, middle: "  " },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
  });
  for (const row of rows) grid.push(row.map(oneLine));
  return grid
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** Two columns: what, and its value. */
export function facts(io: Io, rows: ReadonlyArray<readonly [string, string]>): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${paint(io, "dim", name.padEnd(width))}  ${value}`).join("\n");
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ");
}
