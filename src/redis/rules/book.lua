#!lua flags=allow-oom
-- Replaces the rule book with a newer version; an older one never overwrites a newer one. If there is none although the caller
-- has seen one, the shard has lost its data.
-- uses: shard forward loss
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', its version, the book as JSON | '', a digest of it, a name for the shard if it is new,
--          whether the caller has seen a book here ('1' | '0'), number of shards of the caller, for a shard that has none,
--          the name of its draft | '', its bytes
-- Answers  { 'old-book', version in force } | { 'late' } | { 'lost' }: the draft is not whole | { 'ok', at, version, mark }: the
--          mark holds version, digest and name

expect_arguments(10)
local now, version = read_now(ARGV[1]), whole(ARGV[3])
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
expect('meta', 'book')
local meta = read_meta()
local function mark()
  return string.format('%d', version) .. ' ' .. ARGV[5] .. ' ' .. (redis.call('HGET', K.meta, 'name') or ARGV[6])
end
-- The same book again: the reply to an earlier call was lost. By its digest: to compare a long text takes long.
local version_and_digest = string.match(redis.call('HGET', K.meta, 'mark') or '', '^%d+ %S+')
local is_known = version_and_digest == string.format('%d %s', version, ARGV[5]) and redis.call('EXISTS', K.book) == 1
if is_known and meta.book == version then return { 'ok', text(now), text(version), mark() } end
local draft = ARGV[9] ~= '' and K.draft .. ARGV[9]
if not is_known and version <= meta.book then
  if draft then redis.call('UNLINK', draft) end
  return { 'old-book', text(meta.book) }
end
if draft then
  local size = redis.call('STRLEN', draft)
  if size == 0 or size ~= whole(ARGV[10]) then return { 'lost' } end
  redis.call('RENAME', draft, K.book)
  -- A draft ends by itself.
  redis.call('PERSIST', K.book)
else
  redis.call('SET', K.book, ARGV[4])
end
if redis.call('HSETNX', K.meta, 'name', ARGV[6]) == 1 then
  -- With its name a shard gets the server that it is on, or a loss of all that came after would pass for a first start.
  redis.call('HSET', K.meta, 'run', string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '')
end
redis.call('HSETNX', K.meta, 'shards', ARGV[8])
redis.call('HSET', K.meta, 'book', version, 'mark', mark())
if meta.book == 0 and ARGV[7] == '1' then loss.note(meta, now) end
return { 'ok', text(now), text(version), mark() }
