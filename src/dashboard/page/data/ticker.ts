const TICK_MS = 250

const callbacks = new Map<Element, () => void>()
const visible = new Set<Element>()
let timer: number | undefined

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) visible.add(target)
    else visible.delete(target)
    if (isIntersecting) callbacks.get(target)?.()
  }
})

/** Calls back four times a second while the element is visible, with one timer for all. @returns a function that stops it */
export function everyTick(element: Element, callback: () => void): () => void {
  callbacks.set(element, callback)
  observer.observe(element)
  timer ??= window.setInterval(tick, TICK_MS)
  callback()
  return () => {
    callbacks.delete(element)
    visible.delete(element)
    observer.unobserve(element)
    if (callbacks.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function tick(): void {
  if (document.visibilityState === 'hidden') return
  for (const element of visible) callbacks.get(element)?.()
}
