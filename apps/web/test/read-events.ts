import type { JsonObject } from "@toolctrl/foundation/json";

export interface ServerEvent {
  readonly event: string;
  readonly data: { readonly run: JsonObject & { readonly id: string; readonly status: string }; readonly error?: JsonObject };
}

export interface EventReader {
  readonly response: Response;
  /** What came before the first event. */
  readonly comments: readonly string[];
  /** The next event; null at the end of the stream. */
  next(): Promise<ServerEvent | null>;
  /** All that still come. */
  rest(): Promise<ServerEvent[]>;
  /** Goes away. */
  leave(): Promise<void>;
}

/** Starts a streamed run and reads its server-sent events. */
export async function openStream(origin: string, key: string, workflowId: string, body: JsonObject = {}): Promise<EventReader> {
  const response = await fetch(`${origin}/api/workflows/${workflowId}/stream`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.body === null) throw new Error("expected a body");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const comments: string[] = [];
  let buffered = "";
  const next = async (): Promise<ServerEvent | null> => {
    for (;;) {
      const end = buffered.indexOf("\n\n");
      if (end !== -1) {
        const block = buffered.slice(0, end);
        buffered = buffered.slice(end + 2);
        if (!block.startsWith(":")) return parse(block);
        comments.push(block);
        continue;
      }
      const { done, value } = await reader.read();
      if (done) return null;
      buffered += value;
    }
  };
  return {
    response,
    comments,
    next,
    async rest() {
      const events: ServerEvent[] = [];
      for (let event = await next(); event !== null; event = await next()) events.push(event);
      return events;
    },
    leave: () => reader.cancel(),
  };
}

function parse(block: string): ServerEvent {
  const fields = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]));
  return { event: fields.get("event") ?? "", data: JSON.parse(fields.get("data") ?? "null") as ServerEvent["data"] };
}
