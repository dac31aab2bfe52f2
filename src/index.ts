export type { Audit } from './conformance/history.ts'
export type { BucketState, BucketView, Durability, QuotaView } from './core/bucket-view.ts'
export type { Clock } from './core/clock.ts'
export {
  BackendUnavailableError,
  DataTooLargeError,
  ForeignValueError,
  IdConflictError,
  InvalidDataError,
  InvalidInputError,
  InvalidKeyError,
  InvalidLimitError,
  InvalidOptionsError,
  isVelvetRopeError,
  MeterClosedError,
  NoLimitError,
  ShaperClosedError,
  ShardCountError,
  UnfitRedisError,
  UnknownUnitError,
  VelvetRopeError,
} from './core/errors.ts'
export type { JobEvent, ShaperEvents } from './core/events.ts'
export type { JobExplanation } from './core/explanation-view.ts'
export type { FamilyView } from './core/family-view.ts'
export {
  FinalError,
  FreezeError,
  HandlerTimeoutError,
  LeaseLostError,
  StartedLateError,
  WorkerLostError,
} from './core/handler-errors.ts'
export type { Hold, HoldReason } from './core/hold.ts'
export type { Accepted, Admission, JobState, JobView, Rejected, TurnRefusal } from './core/job.ts'
export { type Limit, type LimitInput, parseLimit } from './core/limit.ts'
export { formatLimit } from './core/limit-format.ts'
export type {
  Flow,
  LineJob,
  LineView,
  Recent,
  RecentDeparture,
  RecentVerdict,
} from './core/line-view.ts'
export { formatRate, parseRate, type Rate, type RateInput } from './core/rate.ts'
export {
  OldRuleBookError,
  RuleBookConflictError,
  TooManyRulesError,
  UnknownZoneError,
} from './core/rule-errors.ts'
export type {
  LocalRuleView,
  OverrideView,
  PreviewedStanding,
  PreviewedTotal,
  PreviewSample,
  RulePreview,
  RuleView,
  TotalsPreview,
  TotalView,
  UnsetRuleView,
} from './core/rule-view.ts'
export { NotAnErrorError } from './core/thrown.ts'
export { TurnCancelledError, TurnRefusedError, TurnTimeoutError, UnsettledError } from './core/turn-errors.ts'
export type { Costs } from './core/usage.ts'
export type { Handler } from './line/attempt.ts'
export type { BucketPage, BucketQueryInput as BucketQuery } from './line/bucket-query.ts'
export type { ShapedWorker } from './line/engine.ts'
export type { FamilyPage, FamilyQueryInput as FamilyQuery } from './line/family-query.ts'
export type {
  LiveRuleBook,
  LoadedRules,
} from './line/limits.ts'
export type { WorkOptions } from './line/options.ts'
export type { PreviewedChange } from './line/preview-change.ts'
export type { ByHandOptions, LoadOptions, LocalOptions, ResetOptions } from './line/rule-options.ts'
export type { ShapedJob } from './line/shaped-job.ts'
export type { Turn } from './line/turn.ts'
export type {
  AcquireOptions,
  CloseOptions,
  EnqueueOptions,
  EnqueueRequest,
  FindOptions,
  ForecastOptions,
  LineOptions,
  SettleOptions,
  ShaperOptions,
  TryAcquireOptions,
} from './shaper/options.ts'
export { Shaper } from './shaper/shaper.ts'
export type { WrapOptions } from './shaper/wrap.ts'
