/**
 * A span in the format of W3C Trace Context (level 1, 3.2.2): version, trace id, span id and flags. Version ff is
 * invalid, and so are ids of zeros.
 */
export const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
