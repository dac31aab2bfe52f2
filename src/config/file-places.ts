import { lstat, readlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, parse, sep } from 'node:path'

/** A name in a folder: changing its entry may change where a path leads. */
export interface Place {
  /** Absolute, without symbolic links. */
  readonly folder: string
  readonly name: string
}

/** The maximum on Linux. */
const MOST_LINKS = 40

/**
 * Returns what to watch to notice that a path leads elsewhere or its file changed: each symbolic link on the way, the
 * file in its folder, and that folder in its parent; or the name at which the path ends.
 *
 * @param path absolute
 */
export async function placesOf(path: string): Promise<readonly Place[]> {
  const links: Place[] = []
  let trail: Place[] = []
  let folder = parse(path).root
  let steps = stepsOf(path)
  for (;;) {
    const [name, ...further] = steps
    if (name === undefined || links.length > MOST_LINKS) break
    steps = further
    if (name === '..') {
      folder = dirname(folder)
      trail.pop()
      continue
    }
    const place = { folder, name }
    const found = await look(join(folder, name))
    if (!found.isLink) {
      trail.push(place)
      if (!found.isThere) break
      folder = join(folder, name)
      continue
    }
    links.push(place)
    steps = [...stepsOf(found.target), ...further]
    if (isAbsolute(found.target)) {
      folder = parse(found.target).root
      trail = []
    }
  }
  return [...links, ...trail.slice(-2)]
}

function stepsOf(path: string): string[] {
  return path
    .slice(parse(path).root.length)
    .split(sep)
    .filter((step) => step !== '' && step !== '.')
}

type Found =
  | { readonly isLink: true; readonly target: string }
  | { readonly isLink: false; readonly isThere: boolean }

async function look(path: string): Promise<Found> {
  try {
    const stats = await lstat(path)
    return stats.isSymbolicLink()
      ? { isLink: true, target: await readlink(path) }
      : { isLink: false, isThere: true }
  } catch {
    return { isLink: false, isThere: false }
  }
}
