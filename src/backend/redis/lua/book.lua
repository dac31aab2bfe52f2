#!lua flags=allow-oom
-- Replaces the rule book by a newer version: an older one never overwrites a newer.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', its version, the book as JSON
-- Answers  { 'old-book', version in force } | { 'late' } | { 'ok', at, version }

local now = read_now(ARGV[1])
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
expect('meta', 'book')
local meta = read_meta()
-- The same words again: an answer was lost on the way.
local version = number(ARGV[3])
local is_known = redis.call('GET', K.book) == ARGV[4]
if is_known and meta.book == version then return { 'ok', text(now), text(version) } end
if not is_known and version <= meta.book then return { 'old-book', text(meta.book) } end
redis.call('SET', K.book, ARGV[4])
redis.call('HSET', K.meta, 'book', version)
return { 'ok', text(now), text(version) }
