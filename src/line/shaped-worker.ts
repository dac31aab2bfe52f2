/** A handler at work: it is called for jobs whose slot has come, up to `concurrency` times at once. */
export interface ShapedWorker {
  readonly concurrency: number
  /** Handlers that run now. */
  readonly running: number
  /** Takes no more jobs, and resolves when the handlers that run have settled. Safe to call twice. */
  close(): Promise<void>
}
