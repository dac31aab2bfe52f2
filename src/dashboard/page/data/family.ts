/** Whether a pattern or a path names a family: the key before the slash and all below it. */
export function isFamily(name: string): boolean {
  return name.endsWith('/')
}

/** The weight in the text of a limit, such as 3 in `100, 5/s, weight 3`. */
export function weightOf(limit: string): number {
  return Number(/(?:^|, )weight ([^,]+)/.exec(limit)?.[1] ?? 1)
}
