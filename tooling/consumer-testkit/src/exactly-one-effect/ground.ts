import { openInstallation, openSharedDatabase, type Installation, type InstallationOptions } from "../installation.ts";
import type { Runner } from "./runner.ts";

/** Where scenarios are played: installations on one database, each with a tenant and a queue of its own. */
export interface Ground {
  open(options?: Omit<InstallationOptions, "on">): Promise<Installation>;
  /** With a database of its own, for a scenario that locks tables or alters them. */
  openAlone(options?: Omit<InstallationOptions, "on">): Promise<Installation>;
  /** Closes all that is still open. */
  close(): Promise<void>;
}

export async function openGround(): Promise<Ground> {
  const shared = await openSharedDatabase();
  const opened = new Set<Installation>();
  const remember = (installation: Installation): Installation => {
    const close = async (): Promise<void> => {
      if (opened.delete(remembered)) await installation.close();
    };
    const remembered = { ...installation, close };
    opened.add(remembered);
    return remembered;
  };
  return {
    open: async (options) => remember(await openInstallation("redis", { ...options, on: shared })),
    openAlone: async (options) => remember(await openInstallation("redis", options)),
    async close() {
      await Promise.all([...opened].map((installation) => installation.close()));
      await shared.close();
    },
  };
}

/** An installation as a runner needs it. */
export function openFor(ground: Ground, { needsOwnDatabase }: Runner): Promise<Installation> {
  return needsOwnDatabase ? ground.openAlone() : ground.open();
}
