/** Plugins of tenants: what they subscribe to, how they are called, and what they use of the product's capabilities. */
export { countCapabilityUse, type CapabilityUse } from "./plugins/count-capability-use.ts";
export {
  createPluginSubscription,
  type NewFunctionSubscription,
  type NewHttpSubscription,
  type NewPluginSubscription,
} from "./plugins/create-plugin-subscription.ts";
export { findSubscribedPlugins, loadPluginTarget, type PluginTarget } from "./plugins/find-plugin-subscriptions.ts";
export { listPluginSubscriptions, type PluginSubscriptionView } from "./plugins/list-plugin-subscriptions.ts";
export type { PluginContext, PluginFunction, PluginFunctions, PluginHook, PluginTransaction } from "./plugins/plugin-function.ts";
export { openPluginSecrets } from "./plugins/plugin-secrets.ts";
export { mayUseCapability, readCapabilityUsage, type CapabilityUsage } from "./plugins/read-capability-usage.ts";
export { setCapabilityQuota, type CapabilityKey } from "./plugins/set-capability-quota.ts";
export { disablePluginSubscription, enablePluginSubscription } from "./plugins/switch-plugin-subscription.ts";
