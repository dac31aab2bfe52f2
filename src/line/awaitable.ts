/** Now, or later: whoever has nothing to wait for answers at once, and no promise is made for it. */
export type Awaitable<Value> = Value | Promise<Value>
