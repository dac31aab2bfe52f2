#!lua flags=no-writes
-- The verdict that `admit` would give now.
-- uses: shard forward job warmth quota calendar usage stored charge bucket pace blocks line waiting order along passage verdict lateness follow
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', version of the caller's rule book, key, cost, pattern, capacity, interval, tolerance, warm-up, cold interval, limit,
--          settings with the named costs | ''
-- Answers  { 'old-book', version } | { 'ok', now, 'yes', position, departsAt, waiting, capacity }
--          | { 'ok', now, 'no', reason, retryAt, waiting, capacity }: 'yes~' and 'no~' where the time is an estimate
--          | { 'ok', now, 'above', number of the quota that the job alone exceeds, waiting, capacity }

expect_arguments(12)
local now = read_now(ARGV[1])
local meta = read_meta()
local book, key, cost = number(ARGV[2]), ARGV[3], number(ARGV[4])
if book ~= meta.book then return { 'old-book', text(meta.book) } end
local rule = read_rule(5, book)
if not usage.named(ARGV[12]) then refuse_arguments() end
local bucket = read_bucket(key)
if bucket then
  read_line(bucket)
  if bucket.book < book then change_limit(bucket, rule, now) end
else
  expect_whole(meta)
  bucket = new_bucket(key, 0, rule, now)
end
local departs_at, position, retry_at, is_estimate, exceeded = judge(bucket, cost, ARGV[12], INF, now)
local at, waiting, capacity = text(now), bucket.waiting, text(bucket.capacity)
local mark = is_estimate and '~' or ''
if exceeded then return { 'ok', at, 'above', exceeded, text(waiting), capacity } end
if departs_at then return { 'ok', at, 'yes' .. mark, text(position), text(departs_at), text(waiting + cost), capacity } end
return { 'ok', at, 'no' .. mark, position, text(retry_at), text(waiting), capacity }
