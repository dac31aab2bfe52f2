#!lua flags=no-writes
-- The verdict that `admit` would give now.
-- uses: shard warmth bucket pace job blocks line order verdict
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', version of the caller's rule book, key, cost, pattern, capacity, interval, tolerance, warm-up, cold interval, limit
-- Answers  { 'old-book', version } | { 'ok', now, 'yes', position, departsAt, waiting, capacity }
--          | { 'ok', now, 'no', reason, retryAt, waiting, capacity }

expect_arguments(11)
local now = read_now(ARGV[1])
local meta = read_meta()
local book, key, cost = number(ARGV[2]), ARGV[3], number(ARGV[4])
if book ~= meta.book then return { 'old-book', text(meta.book) } end
local rule = read_rule(5, book)
local bucket = read_bucket(key)
if bucket then
  read_line(bucket)
  if bucket.book < book then change_limit(bucket, rule) end
else
  expect_whole(meta)
  bucket = new_bucket(key, 0, rule)
end
local departs_at, position, retry_at = judge(bucket, cost, INF, now)
local at, waiting, capacity = text(now), bucket.waiting, text(bucket.capacity)
if departs_at then return { 'ok', at, 'yes', text(position), text(departs_at), text(waiting + cost), capacity } end
return { 'ok', at, 'no', position, text(retry_at), text(waiting), capacity }
