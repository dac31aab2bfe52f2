#!lua flags=allow-oom
-- A scheduler that was elected ends, and waits for no marker any more: another may be elected at once. One of those that
-- wait for it is woken, and the elected one, since the one that ends may have taken a marker with it.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     scheduler
-- Answers  '1' | '0': another is elected

-- By then each of the others has asked by itself.
local VACANCY_MS = 1500

expect('meta', 'wake', 'vacancy')
if redis.call('LLEN', K.wake) == 0 then redis.call('LPUSH', K.wake, '1') end
if redis.call('HGET', K.meta, 'leader') ~= ARGV[1] then return '0' end
redis.call('HDEL', K.meta, 'leader', 'leaderUntil')
if redis.call('LLEN', K.vacancy) == 0 then redis.call('LPUSH', K.vacancy, '1') end
redis.call('PEXPIRE', K.vacancy, VACANCY_MS)
return '1'
