/**
 * The id of a job that Redis keeps under this name. Where two first segments of keys use one id, the job that came second has a longer
 * name, `<id>.<hash>`: ids hold no dot (lib/name.lua).
 */
export function idOfName(name: string): string {
  const dot = name.indexOf('.')
  return dot === -1 ? name : name.slice(0, dot)
}
