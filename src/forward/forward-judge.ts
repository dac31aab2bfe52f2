import { faultOfRequest, type RequestFault } from './forward-request.ts'
import { readReach } from './plan.ts'
import type { ForwardSettings } from './settings.ts'

/**
 * Returns a function that says what is wrong with job data that could never be sent, by the rules of the forwarding
 * handler.
 *
 * @throws InvalidOptionsError
 */
export function forwardJudge(settings: ForwardSettings): (data: unknown) => RequestFault | undefined {
  const reach = readReach(settings)
  return (data) => faultOfRequest(data, reach)
}
