/**
 * The EventsService: what happened in a tenant's product, and who is told of it. An application event is a row for the tenant's people to
 * read and an event that may start workflows; of a request it is a webhook call-out and notifications too.
 */
export type { ApplicationEvent, ApplicationEventSource, NewApplicationEvent } from "./events-service/application-event.ts";
export type { EventContext } from "./events-service/event-context.ts";
export { listApplicationEvents, MAX_LISTED_EVENTS, type ApplicationEventQuery } from "./events-service/list-application-events.ts";
export { publishApplicationEvent, type PublishedApplicationEvent } from "./events-service/publish-application-event.ts";
