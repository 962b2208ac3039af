export {
  reconcileEvents,
  type LostEvent,
  type ReconcileDeps,
  type ReconcileOptions,
  type ReconcileReport,
} from "./reconcile/reconcile-events.ts";
export { createReconciler, type Reconciler, type ReconcilerReport } from "./reconcile/reconciler.ts";
export { listUnfinished, type UnfinishedEvent, type UnfinishedPage } from "./reconcile/sql/list-unfinished.ts";
export { START_OF_TIME, type Cursor } from "./sql/purge-done-events.ts";
