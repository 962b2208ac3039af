import type { Comparison } from "./compare.ts";
import { EFFECT_KINDS } from "./effect-kinds.ts";
import type { TrafficReport } from "./traffic.ts";

export interface Progress {
  say(line: string): void;
  /** Shows where the run is: on a terminal one line that is rewritten, elsewhere nothing. */
  show(report: TrafficReport, comparison: Comparison): void;
  /** Ends the rewritten line. */
  end(): void;
}

/** Progress goes to stderr, so that stdout can hold one JSON document. */
export function createProgress(stream: NodeJS.WriteStream): Progress {
  let open = false;
  const end = (): void => {
    if (open) stream.write("\n");
    open = false;
  };
  return {
    end,
    say(line) {
      end();
      stream.write(`${line}\n`);
    },
    show(report, comparison) {
      if (!stream.isTTY) return;
      const effects = EFFECT_KINDS.map((kind) => `${kind} ${String(comparison.effects[kind]).padStart(3)}`).join("  ");
      stream.write(`\r\u001B[K${report.published} published   ${effects}   waiting for ${comparison.missing.length}`);
      open = true;
    },
  };
}
