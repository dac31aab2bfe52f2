/** Whether a caller stands behind the id, and no job. */
export function isTurnId(id: string): boolean {
  return id.startsWith('~')
}
