import { judgeForwardRequest, type RequestFault } from './forward-request.ts'
import { readReach } from './plan.ts'
import type { ForwardSettings } from './settings.ts'

/**
 * Tells what is wrong with the data of a job that could never be sent, by the rules of the handler that would send it.
 *
 * @throws InvalidOptionsError
 */
export function forwardJudge(
  settings: Pick<ForwardSettings, 'allow' | 'allowPrivate'>,
): (data: unknown) => RequestFault | undefined {
  const reach = readReach(settings)
  return (data) => {
    const judged = judgeForwardRequest(data, reach)
    return 'detail' in judged ? judged : undefined
  }
}
