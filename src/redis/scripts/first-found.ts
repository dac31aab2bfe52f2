/**
 * What one of the shards found, of all of which something was asked. Where none has found it and one has failed, nobody knows.
 *
 * @throws (rejects) what that one failed with
 */
export async function firstFound<Found>(
  asked: readonly Promise<Found | undefined>[],
): Promise<Found | undefined> {
  const answers = await Promise.allSettled(asked)
  let failed: PromiseRejectedResult | undefined
  for (const answer of answers) {
    if (answer.status === 'rejected') failed ??= answer
    else if (answer.value !== undefined) return answer.value
  }
  if (failed !== undefined) throw failed.reason
  return undefined
}
