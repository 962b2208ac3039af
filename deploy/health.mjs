// The health command of the image: asks the process of its own container, and ends with 0 or 1. The image has neither curl nor wget.
//
// By default it asks /healthz, which asks nobody else: were Redis or the database part of it, their outage would mark every container
// unhealthy, and restart them where something acts on that. `node health.mjs /readyz` asks for those too.
const DEADLINE_MS = 3000;

const { HEALTH_HOST = "127.0.0.1", HEALTH_PORT = "0" } = process.env;
const [path = "/healthz"] = process.argv.slice(2);
// A server that listens everywhere is asked on this machine.
const host = ["0.0.0.0", "::"].includes(HEALTH_HOST) ? "127.0.0.1" : HEALTH_HOST;

try {
  if (!/^[1-9]\d*$/.test(HEALTH_PORT)) throw new Error(`expected HEALTH_PORT to be a fixed port, got ${HEALTH_PORT}`);
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${HEALTH_PORT}${path}`;
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(DEADLINE_MS) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`expected ${path} to answer 200, got ${response.status}: ${text.slice(0, 2000)}`);
  process.stdout.write(`${text}\n`);
} catch (error) {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}${cause}\n`);
  process.exitCode = 1;
}
