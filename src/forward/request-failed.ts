import { VelvetRopeError } from '../core/errors.ts'

/** A request to another service was answered with a failure, or not at all; `status` is absent then. */
export class RequestFailedError extends VelvetRopeError {
  readonly status: number | undefined

  constructor(message: string, options?: ErrorOptions & { readonly status?: number }) {
    super('request-failed', message, options)
    this.status = options?.status
  }
}
