#!lua flags=allow-oom
-- A scheduler ends, and waits for no marker any more. If it was elected, another may be elected at once. It may have taken a
-- marker, so this wakes the elected scheduler, or, where none is elected, one that waits to be.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     scheduler
-- Answers  '1' | '0': another is elected

-- By then each of the others has asked on its own.
local VACANCY_MS = 1500

expect_arguments(1)
expect('meta', 'wake', 'vacancy')
if redis.call('LLEN', K.wake) == 0 then redis.call('LPUSH', K.wake, '1') end
local leader = redis.call('HGET', K.meta, 'leader')
if leader and leader ~= ARGV[1] then return '0' end
redis.call('HDEL', K.meta, 'leader', 'leaderUntil')
if redis.call('LLEN', K.vacancy) == 0 then redis.call('LPUSH', K.vacancy, '1') end
redis.call('PEXPIRE', K.vacancy, VACANCY_MS)
return '1'
