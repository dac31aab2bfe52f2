#!lua flags=allow-oom
-- Every bucket of the shard waits one interval, counted from now: somebody saw the clock jump.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     now | ''
-- Answers  now

local now = read_now(ARGV[1])
expect('meta')
redis.call('HSET', K.meta, 'quarantine', now)
return text(now)
