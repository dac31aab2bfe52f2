/** A value now, or a promise of it: where there is nothing to wait for, no promise is made. */
export type Awaitable<Value> = Value | Promise<Value>
