import { domainToASCII } from "node:url";
import { CodedError } from "@toolctrl/foundation/errors";

// RFC 5321 lengths; the shape is that of HTML's e-mail input, which knows no quoting, comments, groups or display names.
const MAX_LENGTH = 254;
const MAX_LOCAL_LENGTH = 64;
const LOCAL = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+$/;
const DOMAIN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/**
 * Exactly one plain address, `local@domain`; an international domain comes back in its ASCII form.
 *
 * Mail libraries take a list where a comma stands and a new header where a line breaks, so both are refused here, before any library
 * sees them, with everything else that is not one plain address.
 * @throws CodedError `MAIL.ADDRESS` naming the field and what is wrong with it, never the value: it may be somebody's.
 */
export function parseAddress(value: string, field: string): string {
  const at = value.lastIndexOf("@");
  const local = value.slice(0, Math.max(at, 0));
  const domain = toAsciiDomain(value.slice(at + 1));
  const address = `${local}@${domain}`;
  if (at < 1 || !LOCAL.test(local) || local.length > MAX_LOCAL_LENGTH || !DOMAIN.test(domain) || address.length > MAX_LENGTH) {
    throw new CodedError("MAIL.ADDRESS", `expected ${field} to be exactly one plain address, got ${describe(value)}`, { facts: { field } });
  }
  return address;
}

/** Lowercase and ASCII, or "". The URL parser behind it drops line breaks and decodes percent signs: nothing but names may reach it. */
function toAsciiDomain(domain: string): string {
  return /^[\p{L}\p{M}\p{N}.-]+$/u.test(domain) ? domainToASCII(domain) : "";
}

/**
 * A text that fits in one header line.
 * @throws CodedError `MAIL.ADDRESS`
 */
export function assertSingleLine(value: string, field: string): string {
  // Tab is the one control character a header may hold.
  if (/[[\p{Cc}\p{Zl}\p{Zp}]--[\t]]/v.test(value)) {
    throw new CodedError("MAIL.ADDRESS", `expected ${field} to be one line without control characters, got ${describe(value)}`, {
      facts: { field },
    });
  }
  return value;
}

function describe(value: string): string {
  if (/[\r\n]/.test(value)) return "a line break in it";
  if (value.includes(",") || value.includes(";")) return "a list";
  if (/[<>"()]/.test(value)) return "a display name or comment";
  if (!value.includes("@")) return "a text without @";
  return `another text of ${value.length} characters`;
}
