/**
 * Loaded into the process of a service before it: measures for how long its event loop is held. The message `longest` is
 * answered with the longest turn since the last one, in milliseconds.
 */
let longest = 0
let begun = performance.now()
let used = process.cpuUsage()

/** The loop never waits for events meanwhile, so a turn lasts as long as its callbacks. */
function turn(): void {
  const now = performance.now()
  const { user, system } = process.cpuUsage(used)
  // While the system runs other processes, no processor time passes. That of threads that help counts here, too.
  longest = Math.max(longest, Math.min(now - begun, (user + system) / 1_000))
  begun = now
  used = process.cpuUsage()
  setImmediate(turn)
}

if (process.send !== undefined) {
  setImmediate(turn)
  process.on('message', (message) => {
    if (message !== 'longest') return
    process.send!({ longest })
    longest = 0
  })
}
