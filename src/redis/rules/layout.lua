#!lua flags=allow-oom
-- Checks how many shards the line has. The number of the caller is stored if there is none, and replaces another number if
-- the shard is not in use: no job, no bucket that still matters, and no scheduler or worker that was active lately.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', number of shards, '' to compare only | the number that was found, to replace it
-- Answers  { 'late' } | { 'ok', number that the shard had | 0 } | { 'other', number, jobs that have not ended }

-- Schedulers claim at least every 1.5 s.
local LATELY = 5000000

expect_arguments(4)
local now, mine = read_now(ARGV[1]), whole(ARGV[3])
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
expect('meta', 'buckets', 'idle')
local meta = read_meta()
local had = meta.shards
if ARGV[4] ~= '' and had ~= number(ARGV[4]) and had ~= mine then return { 'other', text(had), '0' } end
if had ~= 0 and had ~= mine then
  local alive = meta.admitted - meta.ended
  local buckets = redis.call('HLEN', K.buckets) - redis.call('ZCOUNT', K.idle, '-inf', now)
  if alive > 0 or buckets > 0 or math.abs(now - meta.heardAt) < LATELY then return { 'other', text(had), text(alive) } end
end
if ARGV[4] ~= '' and had ~= mine then redis.call('HSET', K.meta, 'shards', mine) end
return { 'ok', text(had) }
