/** The workflows of the sample product, which the guide shows. */
export { DIGEST } from "./workflows/digest.ts";
export { leadIntake } from "./workflows/lead-intake.ts";
export { orderStatus } from "./workflows/order-status.ts";
