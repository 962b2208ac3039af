import type { Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { Logger } from "@toolctrl/runtime/logger";

/** Opens stored credentials. Only the web app has the key to them, and so the only one. */
export interface CredentialSource {
  /** The header that a credential adds to a request. @throws CodedError `WORKFLOW.NOT_FOUND` */
  open(
    tx: Queryable,
    key: { readonly tenantId: string; readonly credentialId: string },
  ): Promise<{ readonly name: string; readonly value: string }>;
}

/** What a runner works with. */
export interface RunnerDeps {
  readonly pool: Database["pool"];
  readonly http: Pick<GuardedHttp, "request">;
  /** Null where runs have no access to credentials: a step that needs one ends its run. */
  readonly credentials: CredentialSource | null;
  readonly log: Logger;
}
