#!lua flags=no-writes
-- The verdict that `admit` would give now.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting entries along passage departure verdict lateness follow counted held member summed chain total overdue share standing places above full rule
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', version of the caller's rule book, key, cost, pattern, capacity, interval, tolerance, warm-up, cold interval, limit,
--          settings with the named costs | ''
-- Answers  { 'old-book', version } | { 'ok', now, 'yes', position, departsAt, waiting, capacity, held }, where held, under a limit with further
--            parts, is { end of the freeze, paused, whether no place is free, of the last quota that holds it or a job before it: place from 0
--            on, when it has room, units that come free then, units that the start needs, units that count at its slot, whether it holds the job itself }; and behind it one of
--            places_above for each total
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
local departs_at, position, retry_at, is_estimate, exceeded, path = judge(bucket, cost, ARGV[12], INF, now)
local at, waiting, capacity = text(now), bucket.waiting, text(bucket.capacity)
local mark = is_estimate and '~' or ''
if path then
  local total = family.total(path)
  return { 'ok', at, 'under', text(retry_at), text(total.waiting), text(total.capacity), position, is_estimate and '1' or '0', path, exceeded or 0 }
end
if exceeded then return { 'ok', at, 'above', exceeded, text(waiting), capacity } end
if departs_at then
  local held = nil
  if usage.binding(bucket) then
    local order = entries.first(bucket, now, MOST_READ)
    local unread = bucket.waiting - bucket.grantedCost
    for _, entry in ipairs(order) do unread = unread - entry.cost end
    local _, _, _, hold = usage.held(bucket, { cost = cost, settings = ARGV[12] }, nil, order, #order, unread, now)
    held = { text(bucket.frozen), text(bucket.paused), usage.is_full(bucket, bucket.running + bucket.inHanded) and '1' or '0' }
    for index, value in ipairs(hold or {}) do held[index + 3] = text(value) end
  end
  local totals = bucket.member and family.places_above(bucket, cost, ARGV[12], waiting - bucket.grantedCost, 0, now) or {}
  return { 'ok', at, 'yes' .. mark, text(position), text(departs_at), text(waiting + cost), capacity, held or {}, unpack(totals) }
end
return { 'ok', at, 'no' .. mark, position, text(retry_at), text(waiting), capacity }
