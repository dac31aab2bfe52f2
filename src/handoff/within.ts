/**
 * Whether `work` has settled `ms` milliseconds from now; if not, nothing waits for it any more. What has arrived by then
 * counts: timers come before input and output in a turn of the event loop, so after a turn that was long the answer would
 * come too late though it lies ready.
 */
export async function settlesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve, false), ms)
  })
  const settled = work.then(isTrue, isTrue)
  const answer = await Promise.race([settled, late])
  clearTimeout(timer)
  return answer
}

const isTrue = (): true => true
