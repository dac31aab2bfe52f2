/** Requests that wait their turn: a `fetch`, and an interceptor for undici. */
export type { ReceivedAnswer } from './fetch/answer-settling.ts'
export type { FetchOptions, TurnOptions } from './fetch/options.ts'
export type { OutgoingRequest } from './fetch/outgoing-request.ts'
export type { TurnGiver } from './fetch/request-turns.ts'
export { type AnyFetch, shapedFetch } from './fetch/shaped-fetch.ts'
export { turnInterceptor } from './fetch/turn-interceptor.ts'
