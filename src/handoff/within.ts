/** Whether `work` has settled `ms` milliseconds from now; if not, what becomes of it is nobody's concern. */
export async function settlesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  const settled = work.then(isTrue, isTrue)
  const answer = await Promise.race([settled, late])
  clearTimeout(timer)
  return answer
}

const isTrue = (): true => true
