/**
 * Sends reports until all are answered: a call may answer only the first of those that it gets. Where the first call fails, nothing was
 * done; where a later one does, the answers so far are returned, and the other reports may be sent again.
 */
export async function reportAll<Report, Answer>(
  reports: readonly Report[],
  send: (reports: readonly Report[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const answers = [...(await send(reports))]
  while (answers.length < reports.length) {
    try {
      answers.push(...(await send(reports.slice(answers.length))))
    } catch {
      break
    }
  }
  return answers
}
