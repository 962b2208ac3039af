import { CodedError } from "@toolctrl/foundation/errors";

/**
 * The URL in its normal form. Whether its address may be reached is decided at each call.
 * @throws CodedError `HTTP.BAD_URL`
 */
export function checkEndpointUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url !== null && (url.protocol === "https:" || url.protocol === "http:") && url.username === "" && url.password === "";
  if (!plain) throw new CodedError("HTTP.BAD_URL", "expected an absolute http(s) URL without credentials, got another text");
  return url.href;
}
