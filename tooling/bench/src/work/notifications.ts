import { notificationJobs } from "../jobs.ts";
import type { BenchServers } from "../servers.ts";
import type { Work } from "./work.ts";

/** Notifications: a handler that only writes, and so keeps a core busy. */
export function openNotifications({ admin }: BenchServers): Promise<Work> {
  return Promise.resolve({
    app: "worker-general",
    title: "notifications",
    about: { queue: "outbox.notification" },
    settings: { OUTBOX_DISPATCHER_ENABLED: "false" },
    consumer: "notification-create",
    tables: ["Notification"],
    jobs: notificationJobs,
    async takeEffects() {
      const { rows } = await admin.query<{ n: number }>(`SELECT count(*)::int AS "n" FROM "Notification"`);
      return rows[0]?.n ?? 0;
    },
    close: () => Promise.resolve(),
  });
}
