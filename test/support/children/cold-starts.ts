import { Shaper } from '../../../src/index.ts'

/** A thousand starts of one key in a process that nothing has warmed up; says when, by a clock read in the handler first. */
const JOBS = 1_000
const shaper = new Shaper<number>('cold', { limits: { '*': `${JOBS}, 200/s` } })
const starts: number[] = []
const isOver = new Promise<void>((resolve) => {
  shaper.work(() => {
    const at = performance.now()
    if (starts.push(at) === JOBS) resolve()
  })
})
for (let job = 0; job < JOBS; job++) await shaper.enqueue('k', job)
await isOver
await shaper.close()
console.log(JSON.stringify(starts))
