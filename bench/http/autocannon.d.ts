/** What of autocannon is used here; it comes without types. */
declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly connections: number
    readonly pipelining?: number
    /** Seconds. */
    readonly duration: number
    readonly method: 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    /** Asked one after the other by each connection. */
    readonly requests: readonly {
      readonly path: string
      readonly onResponse?: (status: number, body: string) => void
    }[]
  }
  interface Result {
    readonly requests: { readonly average: number; readonly total: number }
    /** Milliseconds. */
    readonly latency: { readonly p50: number; readonly p99: number; readonly max: number }
    readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>
    readonly errors: number
    readonly timeouts: number
  }
  export default function autocannon(options: Options): Promise<Result>
}
