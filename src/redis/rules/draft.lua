#!lua flags=allow-oom
-- Keeps one page of a rule book that is too long for one call; `book` puts the whole of it in force. A draft that no call of
-- `book` follows ends by itself.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', name of the draft, bytes of the pages before this one, the page
-- Answers  { 'late' } | { 'lost' }: pages before this one are missing | { 'ok' }

-- Longer than its pages take one after the other, each with its retries.
local DRAFT_MS = 60000

expect_arguments(5)
if ARGV[2] ~= '' and read_now(ARGV[1]) > number(ARGV[2]) then return { 'late' } end
local draft, before = K.draft .. ARGV[3], whole(ARGV[4])
if before > 0 and redis.call('STRLEN', draft) < before then return { 'lost' } end
-- At its place, not at the end: a call whose reply was lost is repeated.
redis.call('SETRANGE', draft, before, ARGV[5])
redis.call('PEXPIRE', draft, DRAFT_MS)
return { 'ok' }
