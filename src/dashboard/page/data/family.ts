/** Whether a pattern or a path names a family: the key before the slash and all below it. */
export function isFamily(name: string): boolean {
  return name.endsWith('/')
}
