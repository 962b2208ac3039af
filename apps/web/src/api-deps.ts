import type { Database } from "@toolctrl/db/client";
import type { Logger } from "@toolctrl/runtime/logger";
import type { WorkflowsExecutionsService } from "@toolctrl/workflow/executions";
import type { Streams } from "./streams.ts";

/** What the routes work with. */
export interface ApiDeps {
  readonly database: Pick<Database, "pool" | "prisma">;
  readonly service: WorkflowsExecutionsService;
  readonly streams: Streams;
  /** Seals stored credentials, 32 bytes in base64; null where none can be stored. */
  readonly credentialsKey: string | null;
  readonly log: Logger;
}
