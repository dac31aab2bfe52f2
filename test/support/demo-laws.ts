/**
 * The breaches that a demo has printed, but for those of the rate: a busy machine costs rate, and may hold up a call
 * on its way to the API, which then answers 429.
 */
export function brokenLaws(output: string): string[] {
  return output.split('\n').filter((line) => /^L[^3]: /.test(line))
}
