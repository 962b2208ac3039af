import type { BlockId } from "./block-ids.ts";

export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

/** What a block is called, and one sentence about what it does. */
export interface BlockText {
  readonly name: string;
  readonly help: string;
}

/** Complete by its type: a block or a language that is left out does not compile. */
export const BLOCK_TEXTS: Readonly<Record<Language, Readonly<Record<BlockId, BlockText>>>> = {
  en: {
    email: { name: "Send email", help: "Sends a mail to one or more addresses." },
    httpRequest: { name: "HTTP request", help: "Calls a web address and keeps its answer for the steps that follow." },
    if: { name: "If", help: "Goes one way when a condition holds, and the other way when it does not." },
    switch: { name: "Switch", help: "Compares a value with several cases and goes the way of the one that equals it." },
    rowCreate: { name: "Create row", help: "Adds a row to a table." },
    rowUpdate: { name: "Update row", help: "Changes the data of a row." },
    rowDelete: { name: "Delete row", help: "Deletes a row, and the rows below it." },
    waitForInput: { name: "Wait for input", help: "Asks a person, and goes on when they have answered or their time is up." },
  },
  de: {
    email: { name: "E-Mail senden", help: "Sendet eine E-Mail an eine oder mehrere Adressen." },
    httpRequest: { name: "HTTP-Anfrage", help: "Ruft eine Webadresse auf und behält die Antwort für die folgenden Schritte." },
    if: { name: "Wenn", help: "Geht den einen Weg, wenn eine Bedingung zutrifft, und sonst den anderen." },
    switch: { name: "Fallunterscheidung", help: "Vergleicht einen Wert mit mehreren Fällen und geht den Weg des Falls, der ihm gleicht." },
    rowCreate: { name: "Zeile anlegen", help: "Fügt einer Tabelle eine Zeile hinzu." },
    rowUpdate: { name: "Zeile ändern", help: "Ändert die Daten einer Zeile." },
    rowDelete: { name: "Zeile löschen", help: "Löscht eine Zeile und die Zeilen unter ihr." },
    waitForInput: {
      name: "Auf Eingabe warten",
      help: "Fragt eine Person und geht weiter, wenn sie geantwortet hat oder ihre Frist vorbei ist.",
    },
  },
};
