// A sender of text messages, in one process: npx tsx examples/sms.ts
//
// The provider takes two messages a second from a number, five from a toll-free one, and answers 429 to more. Every
// number has a line of its own, so a burst from one delays no other.
import { setTimeout as sleep } from 'node:timers/promises'
import { FreezeError, Shaper } from 'velvet-rope'

interface Message {
  readonly to: string
  readonly text: string
}

const shaper = new Shaper<Message>('sms', {
  limits: { '*': '3, 2/s', '+18005550199': '20, 5/s' }, // 3 may wait, 2 start per second
})

const begin = performance.now()
const print = (from: string, what: string) =>
  console.log(`${((performance.now() - begin) / 1000).toFixed(3)} s  ${from}  ${what}`)

shaper.work(async ({ key: from, data }) => {
  print(from, `to ${data.to}: ${data.text}`)
  const { status, retryAfterMs } = await provider()
  if (status !== 429) return
  print(from, `429: nothing leaves this line for ${retryAfterMs} ms`)
  // The message goes back to the head of its line; the attempt does not count.
  throw new FreezeError({ forMs: retryAfterMs })
})

/** Enqueues a message; while the line is full, retries after the time that the refusal names. */
async function send(from: string, message: Message): Promise<void> {
  for (;;) {
    const admission = await shaper.enqueue(from, message)
    if (admission.accepted) return
    print(from, `full: again in ${Math.ceil(admission.retryAfterMs)} ms`)
    await sleep(admission.retryAfterMs)
  }
}

/** Stands for the provider, which is busy when it gets the third message. */
let calls = 0
async function provider() {
  await sleep(20)
  return ++calls === 3 ? { status: 429, retryAfterMs: 1_000 } : { status: 201, retryAfterMs: 0 }
}

const friends = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald', 'Radia']
await Promise.all(
  ['+15550100', '+18005550199'].map(async (from) => {
    for (const to of friends) await send(from, { to, text: 'your parcel is on its way' })
  }),
)
await shaper.close({ drainMs: 30_000 })
