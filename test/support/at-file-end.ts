const cleanups: (() => unknown)[] = []

/** Calls `cleanup` after the last test of the file that runs now: files share a process, and the modules in it. */
export function atFileEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** Calls what was registered since it was called last, and waits for it. */
export async function endFile(): Promise<void> {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()))
}
