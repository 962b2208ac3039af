export { listenForWakeups, type WakeupListener } from "./listen-for-wakeups.ts";
export { sendWakeup, WAKEUP_CHANNEL } from "./send-wakeup.ts";
export { createWakeupSender, type WakeupSender } from "./wakeup-sender.ts";
