/**
 * A span as W3C Trace Context (level 1, 3.2.2) writes it: version, trace id, span id and flags. It says that version ff is
 * none, and that ids are not all zeros.
 */
export const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
