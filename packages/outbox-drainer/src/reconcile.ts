export {
  reconcileEvents,
  type LostEvent,
  type ReconcileDeps,
  type ReconcileOptions,
  type ReconcileReport,
} from "./reconcile/reconcile-events.ts";
export { createReconciler, type Reconciler, type ReconcilerReport } from "./reconcile/reconciler.ts";
