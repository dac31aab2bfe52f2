#!lua flags=no-writes
-- The view of one bucket.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting counted view member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', key
-- Answers  { now } when it is unknown | { now, view }: see view_of for its values

expect_arguments(2)
local now = read_now(ARGV[1])
local bucket = read_bucket(ARGV[2])
if not bucket then
  expect_whole(read_meta())
  return { text(now) }
end
return { text(now), (view_of(bucket, now)) }
