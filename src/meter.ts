export type { Clock } from './core/clock.ts'
export {
  EMPTY as EMPTY_METER,
  fill as fillMeter,
  forgottenAt,
  type MeterFill,
  type MeterState,
  type MeterVerdict,
} from './core/meter.ts'
export {
  type CountedQuotas,
  fillQuotas as fillMeterQuotas,
  type QuotaMeterFill,
  type QuotaMeterState,
  type QuotaMeterVerdict,
  quotasForgottenAt,
} from './core/meter-quotas.ts'
export type { Quota, QuotaUse, QuotaWindow } from './core/quota.ts'
export type { QuotaInput } from './core/quota-input.ts'
export type { Costs } from './core/usage.ts'
export { ipKey } from './http/ip-key.ts'
export { Meter } from './meter/meter.ts'
export type { LimitSource, MeterLimitsInput } from './meter/meter-limits.ts'
export type { MeterForecast, MeterLevel, MeterQuota, MeterReading } from './meter/meter-reading.ts'
export type {
  Filled,
  FillRequest,
  MeterId,
  MeterStore,
  QuotaFilled,
  QuotaFillRequest,
  QuotaMeterVerbs,
  QuotaReading,
  Reading,
} from './meter/meter-store.ts'
export type { MeterOptions } from './meter/options.ts'
export type { PostgresClient } from './meter/postgres-client.ts'
export { PostgresMeterStore, type PostgresMeterStoreOptions } from './meter/postgres-meter-store.ts'
export { type ExpressRequest, policeExpress } from './police/express.ts'
export { type FastifyReply, type FastifyRequest, policeFastify } from './police/fastify.ts'
export { policeHono } from './police/hono.ts'
export type { PoliceOptions } from './police/police.ts'
