import { quote } from '../core/describe.ts'
import { instant, type OpenCheck } from './law.ts'

/**
 * L11: of a key with a limit of `concurrency`, no more than that many attempts run at once. An attempt runs from its start to its
 * end or return; a turn that is held, until it is released. One that a fault hit keeps its place until `leaseUntil` of the fault.
 * A lower limit stops none that runs, but no other starts. The places are counted where ends are: no start may come before the end
 * that made room for it, whatever the `lag`.
 */
export const concurrency: OpenCheck = (ledger, _options, report) => ({
  see(event) {
    if (event.type !== 'start') return
    const { at, id, key: name } = event
    const key = ledger.key(name)
    const most = Math.max(...key.limitsAt(at).map((limit) => limit.concurrency))
    const running = key.places.takenAt(at) + 1
    // Without a limit nothing may start: L2 reports that.
    if (most < 1 || running <= most) return
    const what = `the start of job ${quote(id)} at ${instant(at)} made ${running} attempts run at once`
    report({
      law: 'L11',
      at,
      key: name,
      id,
      message: `key ${quote(name)}: ${what}, expected at most ${most}`,
    })
  },
})
