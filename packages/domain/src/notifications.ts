export { createNotification, type NewNotification } from "./notifications/create-notification.ts";
export { notificationFor, titleOfEventType, type NotificationMessage } from "./notifications/notification-for.ts";
